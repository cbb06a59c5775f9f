import { UswarmError, type Workspace } from '@uswarm/client';
import { useConnection, useWorkspaces } from '@uswarm/client/react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { notify, notifyError } from '../ui/notify.js';
import { Badge, EmptyState, RelativeTime, Spinner } from '../ui/parts.js';
import ui from '../ui/ui.module.css';
import { describeRuntime } from './runtime.js';
import styles from './workspaces.module.css';

export function WorkspacesScreen() {
  const client = useClient();
  const workspaces = useWorkspaces(client);
  const { state } = useConnection(client);
  return (
    <div className={styles['screen']}>
      <h1>Workspaces</h1>
      <p className={styles['lead']}>Each has its own agents, conversations, memories and budget.</p>
      {workspaces.length > 0 && (
        <ul className={styles['list']}>
          {workspaces.map((workspace) => (
            <WorkspaceCard key={workspace.id} workspace={workspace} />
          ))}
        </ul>
      )}
      {workspaces.length === 0 &&
        (state === 'live' || state === 'offline' ? (
          <EmptyState icon="swarm" title="There is no workspace yet">
            <p>Give the first one a name. A manager and four specialists move in.</p>
          </EmptyState>
        ) : (
          <Spinner label="Loading the workspaces" />
        ))}
      <CreateForm />
    </div>
  );
}

function WorkspaceCard({ workspace }: { workspace: Workspace }) {
  const { id, name, unread_count: unread, runtime } = workspace;
  const { label, tone, detail } = describeRuntime(runtime);
  const preview = runtime.last_message_preview;
  return (
    <li>
      <Link href={pages.workspace(id)} className={styles['card']}>
        <span className={styles['title']}>
          <strong>{name}</strong>
          {unread > 0 && <Badge tone="accent">{unread} unread</Badge>}
          <Badge tone={tone}>{label}</Badge>
        </span>
        <span className={styles['preview']}>
          {preview
            ? `${preview.sender_name}: ${preview.text}`
            : runtime.status === 'ready'
              ? 'No messages yet'
              : detail}
        </span>
        <span className={styles['facts']}>
          {runtime.total_agents} agents
          {preview && (
            <>
              {' · '}
              <RelativeTime at={preview.timestamp} />
            </>
          )}
        </span>
      </Link>
    </li>
  );
}

function CreateForm() {
  const client = useClient();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const [isBusy, setBusy] = useState(false);
  async function create(): Promise<void> {
    setBusy(true);
    try {
      const { data } = await client.api.post('/v1/workspaces', { body: { name: name.trim() } });
      go(pages.workspace(data.id));
    } catch (error) {
      if (error instanceof UswarmError && error.code === 'workspace_limit_reached')
        notify({
          title: 'You have all workspaces of your plan',
          description: 'Delete one, or use another.',
          kind: 'error',
        });
      else notifyError('The workspace was not created')(error);
    }
    setBusy(false);
  }
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <label className={ui['field']}>
        New workspace
        <input
          className={ui['input']}
          value={name}
          required
          maxLength={100}
          placeholder="Research"
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <Button type="submit" disabled={isBusy || name.trim() === ''}>
        <Icon name="plus" size={16} />
        Create
      </Button>
    </form>
  );
}
