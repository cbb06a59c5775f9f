import { type Agent, HistoryRole, type RunTurnRequest } from '@uswarm/runtime-proto';
import { visibleText } from '@uswarm/service-kit';
import type { PromptMessage } from '../models/port.js';
import { modelText } from '../text/model-text.js';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import { estimateText, IMAGE_TOKENS, MESSAGE_TOKENS } from '../tokens/estimate.js';
import { type EntryFile, fileBlock, seesPictures, toFiles } from './attached-files.js';
import { userMessage } from './messages.js';

/** A history message, from the answering agent's perspective. */
export interface Entry {
  role: 'user' | 'assistant';
  text: string;
  files: readonly EntryFile[];
  tokens: number;
  /** True for the newest user message. */
  newest: boolean;
}

/** Tokens for the tags of an untrusted block. */
const BLOCK_TOKENS = 60;
/** Tokens for the sentences before a recording. */
const SPOKEN_TOKENS = 90;

const fileTokens = ({ name, text, pictures, recording }: EntryFile): number =>
  BLOCK_TOKENS +
  (recording === undefined ? 0 : SPOKEN_TOKENS) +
  estimateText(name) +
  estimateText(text) +
  pictures.length * IMAGE_TOKENS;

/** An entry with the estimate of its text and files. */
export function toEntry({ role, text, files, newest }: Omit<Entry, 'tokens'>): Entry {
  const attached = files.reduce((sum, file) => sum + fileTokens(file), 0);
  return { role, text, files, newest, tokens: MESSAGE_TOKENS + estimateText(text) + attached };
}

type Said = Pick<Entry, 'role' | 'text' | 'files'>;

export function entryMessage({ role, text, files }: Said, untrusted: UntrustedBlock): PromptMessage {
  if (role === 'assistant') return { role, content: [{ type: 'text', text }] };
  const shown = [text, ...files.map((file) => fileBlock(file, untrusted))].join('\n\n');
  return userMessage(
    shown,
    files.flatMap(({ pictures }) => pictures),
  );
}

/**
 * The history from the answering agent's perspective. Its own messages have the assistant role. Messages from other
 * agents have the user role, inside an untrusted block, because they may quote web pages. Empty messages are left out.
 */
export function toEntries(
  { history, colleagues, ...request }: Pick<RunTurnRequest, 'history' | 'colleagues' | 'limits'>,
  agent: Agent,
  untrusted: UntrustedBlock,
): Entry[] {
  const known = new Map(colleagues.map(({ id, name, slug }) => [id, { name: `${name} (@${slug})`, slug }]));
  const newest = history.findLastIndex(({ role }) => role !== HistoryRole.AGENT);
  const images = seesPictures(request);
  const said = history.map(({ role, agentId, text, files }): Said => {
    if (role !== HistoryRole.AGENT) return { role: 'user', text: text.toWellFormed(), files: toFiles(files, images) };
    if (agentId === agent.id) return { role: 'assistant', text: modelText(text), files: [] };
    const { name, slug } = known.get(agentId) ?? { name: 'Another agent', slug: 'agent' };
    const wrote = text.trim() === '' ? '' : `${visibleText(name)} wrote:\n${untrusted(slug, text)}`;
    return { role: 'user', text: wrote, files: [] };
  });
  return said
    .map((one, index) => ({ ...one, newest: index === newest }))
    .filter(({ text, newest: isNewest }) => isNewest || text.trim() !== '')
    .map((one) => toEntry(one.text.trim() === '' ? { ...one, text: '[empty message]' } : one));
}
