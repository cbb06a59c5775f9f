import type { ExternalTool } from './platform-tool.js';
import { failed } from './outcomes.js';

/** Replaces a tool with which a turn began, and which its server no longer offers. An earlier call has no known outcome. */
export const removedTool = (name: string): ExternalTool => {
  const gone = failed(`${name} is no longer available, or has changed. It was not called. Tell the user.`);
  const title = `Using ${name}`;
  return {
    name,
    description: 'No longer available.',
    inputSchema: { type: 'object', properties: {} },
    switchedBy: name,
    entry: { name, description: '', icon_url: '', category_id: '', enabled: true, changes: true, permission: 'allow' },
    effect: 'once',
    describe: () => title,
    check: () => gone,
    preview: async () => ({ title, changes: [] }),
    plan: async () => ({ outcome: gone }),
    send: async () => gone,
    lookUp: async () => undefined,
  };
};
