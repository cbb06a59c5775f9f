import { LIMITS } from '@uswarm/contract';
import { MEMORIES_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { type BoundedRead, ReadTimeout } from '../platform/database/bounded-read.js';
import type { Database } from '../platform/database/database.js';
import { messageToText } from '../turns/request/message-to-text.js';
import { failed, succeeded, withOutcome } from '../turns/tools/outcomes.js';
import { definePlatformTool, type PlatformTool, type StoredText } from '../turns/tools/platform-tool.js';
import {
  type FoundMessage,
  matchNewest,
  matchOlder,
  readFound,
  type SearchPlace,
  searchWords,
  type WordMatch,
} from './conversation-search.store.js';

export interface ConversationSearchDeps {
  read: BoundedRead;
  timeoutMs: number;
}

const MAX_RESULTS = 10;
/** UTF-16 code units around the first match in a message. */
const EXCERPT = 600;
const BEFORE_MATCH = 200;
/** Older messages per word that no new message has. */
const OLDER = 20;

/** Messages with rare words first, then the newest. A word counts more than a part of another word. Pure. */
export function mostRelevant(matches: readonly WordMatch[], limit: number): WordMatch[] {
  const counted = (least: number): number[] =>
    (matches[0]?.matched ?? []).map((_, word) => matches.filter(({ matched }) => (matched[word] ?? 0) >= least).length);
  const [parts, whole] = [counted(1), counted(2)];
  const ofWord = (match: number, word: number): number =>
    (match >= 1 ? 1 / (1 + (parts[word] ?? 0)) : 0) + (match >= 2 ? 1 / (1 + (whole[word] ?? 0)) : 0);
  return matches
    .map((match) => ({ match, score: match.matched.reduce((sum, found, word) => sum + ofWord(found, word), 0) }))
    .toSorted((a, b) => b.score - a.score || b.match.seq - a.match.seq)
    .slice(0, limit)
    .map(({ match }) => match);
}

/** A part around the first word that the text contains literally; its beginning otherwise. Pure. */
export function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const at = words.map((word) => lower.indexOf(word)).filter((found) => found >= 0);
  const start = Math.max(0, Math.min(...(at.length === 0 ? [0] : at)) - BEFORE_MATCH);
  const part = text.slice(start, start + EXCERPT).toWellFormed();
  return `${start > 0 ? '… ' : ''}${part}${start + EXCERPT < text.length ? ' …' : ''}`;
}

async function search(
  db: Database,
  place: SearchPlace,
  words: readonly string[],
  limit: number,
): Promise<FoundMessage[]> {
  const { matches, edge } = await matchNewest(db, place, words);
  const found = new Map(matches.map((match) => [match.id, match]));
  if (edge !== undefined) {
    // Words that no new message has are rare, so that each alone finds few.
    const rare = words.filter((_, word) => matches.every(({ matched }) => matched[word] === 0));
    for (const wanted of [words, ...(words.length > 1 ? rare.map((word) => [word]) : [])]) {
      const older = await matchOlder(db, place, { edge, wanted, words, limit: OLDER });
      for (const match of older) found.set(match.id, match);
    }
  }
  const chosen = mostRelevant([...found.values()], limit).map(({ id }) => id);
  const read = await readFound(db, place.workspaceId, chosen);
  const byId = new Map(read.map((message) => [message.id, message]));
  return chosen.flatMap((id) => byId.get(id) ?? []);
}

function line(message: FoundMessage, words: readonly string[], withTitle: boolean): string {
  const { id, created_at, role, author, title, parts } = message;
  const by = role === 'user' ? 'user' : `@${author ?? 'agent'}`;
  const text = excerptOf(messageToText(parts), words);
  return JSON.stringify({ id, at: created_at.toISOString(), by, ...(withTitle ? { conversation: title } : {}), text });
}

/** Lets agents look up what a summary leaves out. */
export function createConversationSearchTool({ read, timeoutMs }: ConversationSearchDeps): PlatformTool {
  return definePlatformTool({
    name: 'search_conversation',
    hint: 'find earlier messages, before you say that you do not know',
    offeredFor: 'past',
    description:
      'Finds earlier messages by their words, with ids and dates. Use it before you say that you do not know something that ' +
      'the user may have told you: the summary of the conversation leaves out details.',
    effect: 'read',
    switchedBy: MEMORIES_TOOL,
    input: z.object({
      query: z.string().trim().min(1).max(500).describe('Words that the message contains; rare words find most.'),
      scope: z
        .enum(['conversation', 'all'])
        .default('conversation')
        .describe('This conversation, or all conversations of the user.'),
      before: z.iso.datetime({ offset: true }).optional().describe('Only messages before this time.'),
      limit: z.int().min(1).max(MAX_RESULTS).default(MAX_RESULTS),
    }),
    describe: ({ query }) => `Searching messages for “${query}”`,
    async prepare({ query, scope, before, limit }, { workspaceId, conversationId, userMessageId, signal }) {
      const place = {
        workspaceId,
        exceptMessageId: userMessageId,
        ...(scope === 'all' ? {} : { conversationId }),
        ...(before === undefined ? {} : { before }),
      };
      try {
        const { words, found } = await read({ timeoutMs, signal }, async (db) => {
          const all = (await searchWords(db, query)).slice(0, LIMITS.searchWords);
          return { words: all, found: all.length === 0 ? [] : await search(db, place, all, limit) };
        });
        if (found.length === 0) return withOutcome(succeeded('No message matches. Try fewer or other words.'));
        const texts: StoredText[] = [...new Set(found.map((message) => message.conversationId))].map((id) => ({
          kind: 'conversation',
          id,
        }));
        const lines = found.map((message) => line(message, words, scope === 'all'));
        return withOutcome({ ...succeeded(lines.join('\n')), read: texts });
      } catch (error) {
        if (!(error instanceof ReadTimeout)) throw error;
        return withOutcome(failed('The search took too long. Use rarer words, or the scope "conversation".'));
      }
    },
  });
}
