import { type Agent, HistoryRole, type RunTurnRequest } from '@uswarm/runtime-proto';
import type { ModelMessage } from '../models/model.js';
import type { UntrustedBlock } from '../tools/untrusted-block.js';

/**
 * The history from the perspective of the answering agent. Its own messages have the assistant role. Messages of other agents
 * have the user role, inside an untrusted block, because they may quote web pages.
 */
export function toModelMessages(
  { history, colleagues }: RunTurnRequest,
  agent: Agent,
  untrusted: UntrustedBlock,
): ModelMessage[] {
  const known = new Map(colleagues.map(({ id, name, slug }) => [id, { name: `${name} (@${slug})`, slug }]));
  return history.map(({ role, agentId, text }) => {
    if (role !== HistoryRole.AGENT) return { role: 'user', text };
    if (agentId === agent.id) return { role: 'assistant', text, toolCalls: [] };
    const { name, slug } = known.get(agentId) ?? { name: 'Another agent', slug: 'agent' };
    return { role: 'user', text: `${name} wrote:\n${untrusted(slug, text)}` };
  });
}
