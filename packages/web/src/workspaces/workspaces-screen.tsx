import type { Workspace } from '@uswarm/client';
import { useConnection, useWorkspaces } from '@uswarm/client/react';
import { Link } from 'wouter';
import { Screen } from '../screen/screen.js';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Field } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { Facts } from '../ui/item.js';
import { Badge, EmptyState, RelativeTime, Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { describeRuntime } from './runtime.js';
import { useCreate } from './use-create.js';

export function WorkspacesScreen() {
  const client = useClient();
  const workspaces = useWorkspaces(client);
  const { state } = useConnection(client);
  return (
    <Screen title="Workspaces" lead="Each has its own agents, conversations, memories and budget.">
      {workspaces.length > 0 && (
        <ul className={ui('stack')}>
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
    </Screen>
  );
}

function WorkspaceCard({ workspace }: { workspace: Workspace }) {
  const { id, name, unread_count: unread, runtime } = workspace;
  const { label, tone, detail } = describeRuntime(runtime);
  const preview = runtime.last_message_preview;
  return (
    <li>
      <Link href={pages.workspace(id)} className={ui('card')}>
        <div className={ui('row')}>
          <h2 className={ui('grow')}>{name}</h2>
          {unread > 0 && <Badge tone="accent">{unread} unread</Badge>}
          <Badge tone={tone}>{label}</Badge>
        </div>
        <p className={ui('lead clip')}>
          {preview
            ? `${preview.sender_name}: ${preview.text}`
            : runtime.status === 'ready'
              ? 'No messages yet'
              : detail}
        </p>
        <Facts>
          <span>{runtime.total_agents} agents</span>
          {preview && <RelativeTime at={preview.timestamp} />}
        </Facts>
      </Link>
    </li>
  );
}

function CreateForm() {
  const { name, setName, create, isBusy } = useCreate();
  return (
    <Form className={ui('row')} onSubmit={create}>
      <Field
        label="New workspace"
        value={name}
        required
        maxLength={100}
        placeholder="Research"
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" disabled={isBusy || name.trim() === ''}>
        <Icon name="plus" size={16} />
        Create
      </Button>
    </Form>
  );
}
