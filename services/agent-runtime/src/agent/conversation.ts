import { type Agent, HistoryRole, type RunTurnRequest } from '@uswarm/runtime-proto';
import type { ModelMessage } from '../models/model.js';
import type { UntrustedBlock } from '../tools/untrusted-block.js';

/**
 * The history as the answering agent sees it. Its own messages are the assistant's. Models know only two sides, so a
 * message of another agent arrives on the user's side, inside an untrusted block: it may repeat what a web page said.
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
