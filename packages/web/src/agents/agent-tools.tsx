import { Choice, Show } from '../screen/screen.js';
import { ownUrl } from '../session/own-url.js';
import { useLoaded } from '../session/use-client.js';
import { Item } from '../ui/item.js';
import { ui } from '../ui/ui.js';
import type { AgentProps } from './agent-props.js';
import { PERMISSIONS, type Tool, useTool } from './use-tool.js';

export function AgentTools({ agentId }: AgentProps) {
  const loaded = useLoaded(`tools ${agentId}`, ({ api }, signal) =>
    api.get('/v1/agents/{id}/tools', { path: { id: agentId }, signal }).then(({ data }) => data),
  );
  return (
    <Show loaded={loaded} what="tools">
      {(tools) => (
        <ul className={ui('list')}>
          {tools.map((tool) => (
            <ToolCard key={`${agentId} ${tool.name}`} agentId={agentId} given={tool} />
          ))}
        </ul>
      )}
    </Show>
  );
}

function ToolCard({ agentId, given }: { agentId: string; given: Tool }) {
  const { tool, title, choose } = useTool(agentId, given);
  return (
    <Item
      image={ownUrl(tool.icon_url)}
      title={title}
      actions={
        <Choice label={title} value={tool.permission} options={PERMISSIONS} onChange={(value) => void choose(value)} />
      }
    >
      <p className={ui('lead')}>{tool.description}</p>
    </Item>
  );
}
