import { type Agent, HistoryRole, type RunTurnRequest } from '@uswarm/runtime-proto';
import { modelText } from '../text/model-text.js';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import { visibleText } from '../text/untrusted-text.js';
import { estimateText, MESSAGE_TOKENS } from '../tokens/estimate.js';

/** A history message, from the answering agent's perspective. */
export interface Entry {
  role: 'user' | 'assistant';
  text: string;
  tokens: number;
  /** True for the newest user message. */
  newest: boolean;
}

/** An entry with the estimate of its text. */
export function toEntry({ role, text, newest }: Omit<Entry, 'tokens'>): Entry {
  return { role, text, newest, tokens: MESSAGE_TOKENS + estimateText(text) };
}

type Said = Pick<Entry, 'role' | 'text'>;

/**
 * The history from the answering agent's perspective. Its own messages have the assistant role. Messages from other
 * agents have the user role, inside an untrusted block, because they may quote web pages. Empty messages are left out.
 */
export function toEntries(
  { history, colleagues }: Pick<RunTurnRequest, 'history' | 'colleagues'>,
  agent: Agent,
  untrusted: UntrustedBlock,
): Entry[] {
  const known = new Map(colleagues.map(({ id, name, slug }) => [id, { name: `${name} (@${slug})`, slug }]));
  const newest = history.findLastIndex(({ role }) => role !== HistoryRole.AGENT);
  const said = history.map(({ role, agentId, text }): Said => {
    if (role !== HistoryRole.AGENT) return { role: 'user', text: text.toWellFormed() };
    if (agentId === agent.id) return { role: 'assistant', text: modelText(text) };
    const { name, slug } = known.get(agentId) ?? { name: 'Another agent', slug: 'agent' };
    return { role: 'user', text: text.trim() === '' ? '' : `${visibleText(name)} wrote:\n${untrusted(slug, text)}` };
  });
  return said
    .map((one, index) => ({ ...one, newest: index === newest }))
    .filter(({ text, newest: isNewest }) => isNewest || text.trim() !== '')
    .map((one) => toEntry(one.text.trim() === '' ? { ...one, text: '[empty message]' } : one));
}
