import type { components } from '@uswarm/client';
import { useState } from 'react';
import { useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';

export type Tool = components['schemas']['AgentTool'];

export const PERMISSIONS = [
  { value: 'allow', label: 'Allow' },
  { value: 'ask', label: 'Ask me' },
  { value: 'deny', label: 'Deny' },
] as const;

/** An agent's tool, and the user's choice of what it may do. */
export function useTool(agentId: string, given: Tool) {
  const { api } = useClient();
  const [tool, setTool] = useState(given);
  const title = tool.name.replaceAll('_', ' ');
  async function choose(permission: Tool['permission']): Promise<void> {
    setTool({ ...tool, permission });
    try {
      const path = { id: agentId, name: tool.name };
      setTool((await api.patch('/v1/agents/{id}/tools/{name}', { path, body: { permission } })).data);
    } catch (error) {
      setTool(tool);
      notifyError(`“${title}” was not changed`)(error);
    }
  }
  return { tool, title, choose };
}
