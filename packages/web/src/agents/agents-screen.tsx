import { Link, useSearchParams } from 'wouter';
import { Avatar } from '../screen/avatar.js';
import { Screen } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { pages } from '../session/pages.js';
import { useAgents } from '../session/use-client.js';
import { ConfirmButton, DialogButton, FormDialog } from '../ui/dialog.js';
import { TextField } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { EmptyState } from '../ui/parts.js';
import { Tabs } from '../ui/tabs.js';
import { ui } from '../ui/ui.js';
import { AgentFields } from './agent-fields.js';
import { AgentMemories } from './agent-memories.js';
import { AgentSettings } from './agent-settings.js';
import { AgentTools } from './agent-tools.js';
import { useOwnAgents } from './own-agents.js';

export function AgentsScreen({ workspaceId }: { workspaceId: string }) {
  const agents = useAgents(workspaceId);
  const [query, setQuery] = useSearchParams();
  const { add, remove } = useOwnAgents(workspaceId);
  const agent = agents.find(({ id }) => id === query.get('agent')) ?? agents[0];
  if (agent === undefined)
    return (
      <Screen title="Agents">
        <EmptyState icon="agents" title="The agents are being set up">
          <p>A manager and its specialists appear here as soon as the workspace is ready.</p>
        </EmptyState>
      </Screen>
    );
  const show = (tab: string): void => setQuery({ agent: agent.id, tab }, { replace: true });
  const own = { workspaceId, agentId: agent.id, name: agent.name };
  return (
    <Screen
      title="Agents"
      lead="The manager answers you and gives tasks to the others. Decide for each agent how it works, what it may do, and what it remembers."
      actions={<AddButton onAdd={add} />}
    >
      <div className={styles['split']}>
        <nav aria-label="Agents" className={styles['side']}>
          {agents.map(({ id, name, role, live, avatar }) => (
            <Link
              key={id}
              className={ui('item')}
              href={`${pages.agents(workspaceId)}?agent=${id}&tab=${query.get('tab') ?? 'settings'}`}
              aria-current={id === agent.id ? 'page' : undefined}
            >
              <Avatar url={avatar} name={name} />
              <span>
                <strong className={ui('block')}>{name}</strong>
                <small>{live === 'online' ? (role === name ? 'Idle' : role) : `${role}, ${live}`}</small>
              </span>
            </Link>
          ))}
        </nav>
        <div key={agent.id} className={ui('stack tight')}>
          <div className={ui('row between')}>
            <h2>{agent.name}</h2>
            {agent.slug !== 'manager' && (
              <ConfirmButton
                size="small"
                aria-label={`Delete ${agent.name}`}
                confirm={{
                  title: `Delete ${agent.name}?`,
                  description:
                    'Its answers and tasks stop, and its memories are deleted. What it wrote stays, and conversations with it can only be read. This cannot be undone.',
                  keep: 'Keep it',
                  action: 'Delete',
                  onConfirm: () => remove(agent.id),
                }}
              >
                Delete
              </ConfirmButton>
            )}
          </div>
          <Tabs
            label={`About ${agent.name}`}
            value={query.get('tab') ?? 'settings'}
            onChange={show}
            tabs={[
              { id: 'settings', label: 'Settings', content: <AgentSettings {...own} /> },
              { id: 'tools', label: 'Tools', content: <AgentTools {...own} /> },
              { id: 'memories', label: 'Memories', content: <AgentMemories {...own} /> },
            ]}
          />
        </div>
      </div>
    </Screen>
  );
}

const AddButton = ({ onAdd }: { onAdd: (form: FormData) => Promise<void> }) => (
  <DialogButton
    dialog={(close) => (
      <FormDialog
        title="Add an agent"
        description="It can be mentioned, and the others can give it tasks."
        action="Add"
        onClose={close}
        onSubmit={(form) => onAdd(form).then(close)}
      >
        <AgentFields />
        <TextField label="Instructions that it always follows" name="instructions" maxLength={8_000} />
      </FormDialog>
    )}
  >
    <Icon name="plus" /> Add an agent
  </DialogButton>
);
