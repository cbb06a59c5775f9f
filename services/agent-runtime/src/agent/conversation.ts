import { type Agent, HistoryRole, type RunTurnRequest } from '@uswarm/runtime-proto';
import type { ModelMessage } from '../models/model.js';

/**
 * The history as the answering agent sees it: its own messages are the assistant's; another
 * agent's are told like the user's, with the name in front, since models know only two sides.
 */
export function toModelMessages({ history, colleagues }: RunTurnRequest, agent: Agent): ModelMessage[] {
  const names = new Map(colleagues.map(({ id, name, slug }) => [id, `${name} (@${slug})`]));
  return history.map(({ role, agentId, text }) => {
    if (role !== HistoryRole.AGENT) return { role: 'user', text };
    if (agentId === agent.id) return { role: 'assistant', text, toolCalls: [] };
    return { role: 'user', text: `${names.get(agentId) ?? 'Another agent'} wrote:\n${text}` };
  });
}
