import { Link, useSearchParams } from 'wouter';
import { Screen } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { ownUrl } from '../session/own-url.js';
import { pages } from '../session/pages.js';
import { useAgents } from '../session/use-client.js';
import { EmptyState } from '../ui/parts.js';
import { Tabs } from '../ui/tabs.js';
import { ui } from '../ui/ui.js';
import { AgentMemories } from './agent-memories.js';
import { AgentSettings } from './agent-settings.js';
import { AgentTools } from './agent-tools.js';

export function AgentsScreen({ workspaceId }: { workspaceId: string }) {
  const agents = useAgents(workspaceId);
  const [query, setQuery] = useSearchParams();
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
              <img src={ownUrl(avatar)} alt="" width={32} height={32} />
              <span>
                <strong className={ui('block')}>{name}</strong>
                <small>{live === 'online' ? (role === name ? 'Idle' : role) : `${role}, ${live}`}</small>
              </span>
            </Link>
          ))}
        </nav>
        <div key={agent.id} className={ui('stack tight')}>
          <h2>{agent.name}</h2>
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
