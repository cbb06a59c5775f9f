import { describe, expect, it } from '@jest/globals';
import type { MessagePage, PageQuery } from '@uswarm/contract';
import fc from 'fast-check';
import { createCursorCodec } from '../records/cursor.js';
import type { MessageRow } from './message-view.js';
import { type MessageList, readPage } from './page.js';
import { type Position, positionOf } from '../records/position.js';

const cursors = createCursorCodec('a key of the tests, long enough for one');
const where = { userId: 'u', conversationId: 'c' };
const now = new Date('2026-11-21T10:00:00Z');
const viewContext = { now, avatar: () => '', attachment: () => ({}) as never };

const row = ({ seq, before_seq }: Position): MessageRow => ({
  id: String(seq),
  rev: seq,
  workspace_id: 'w',
  conversation_id: 'c',
  seq,
  before_seq,
  answered_with: null,
  schedule_id: null,
  trigger_id: null,
  role: 'user',
  content: { type: 'text', text: '' },
  status: 'sent',
  error_code: null,
  error_trace_id: null,
  edited_at: null,
  answer_turn_id: null,
  in_reply_to: null,
  local_id: null,
  mentions: [],
  attachments: [],
  created_at: now,
  updated_at: now,
  agent_id: null,
  agent_name: null,
  agent_role: null,
  agent_kind: null,
  agent_slug: null,
  agent_avatar: null,
  agent_activity: null,
  runtime_phase: null,
  runtime_silent_since: null,
});

/** Every third message is a tool line, listed before the message that came two before it. */
const positionFor = (seq: number): Position => ({ seq, before_seq: seq % 3 === 0 ? seq - 2 : null });
const byPosition = (a: Position, b: Position): number => (positionOf(a) < positionOf(b) ? -1 : 1);

/** The reads of a page over an array, to which a test can add messages. */
function arrayMessages(seqs: number[], knowsBehind: boolean): MessageList {
  const after = (side: 'older' | 'newer', position: Position | null) => {
    const sorted = seqs.map(positionFor).toSorted((a, b) => (side === 'older' ? byPosition(b, a) : byPosition(a, b)));
    return sorted.filter(
      (each) => position === null || (side === 'older' ? byPosition(each, position) : byPosition(position, each)) < 0,
    );
  };
  return {
    async page(_conversation, side, position, limit) {
      const found = after(side, position);
      // As a store that knows what is behind the start of a page.
      const behind = position !== null && knowsBehind ? { behind: found.length < seqs.length } : {};
      return found.slice(0, limit).map((each) => ({ ...row(each), ...behind }));
    },
    hasAny: async (_conversation, side, position) => after(side, position).length > 0,
  };
}

/** The seq of a message that is stored last and listed last. */
const nextReply = (seqs: readonly number[]): number => Math.max(0, ...seqs) - (Math.max(0, ...seqs) % 3) + 4;

type Direction = PageQuery['direction'];
async function read(
  seqs: number[],
  direction: Direction,
  limit: number,
  scrollId?: string | null,
): Promise<MessagePage> {
  const query = { direction, limit, ...(scrollId ? { scrollId } : {}) };
  const [page, same] = await Promise.all(
    [false, true].map((knowsBehind) =>
      readPage({ messages: arrayMessages(seqs, knowsBehind), cursors }, query, where, viewContext),
    ),
  );
  expect(same).toEqual(page);
  return page as MessagePage;
}
const seqsOf = ({ data }: MessagePage): number[] => data.map(({ id }) => Number(id));

const conversations = fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 40 });
const directions = fc.constantFrom<Direction>('forward', 'backward');
const limits = fc.integer({ min: 1, max: 12 });
const inOrder = (seqs: readonly number[], direction: Direction): number[] =>
  seqs
    .map(positionFor)
    .toSorted((a, b) => (direction === 'forward' ? byPosition(a, b) : byPosition(b, a)))
    .map(({ seq }) => seq);

async function readAll(
  seqs: number[],
  direction: Direction,
  limit: number,
  between: (page: number) => void = () => undefined,
) {
  const pages = [await read(seqs, direction, limit)];
  for (let page = pages[0]; page?.pagination.next_scroll_id; page = pages.at(-1)) {
    between(pages.length);
    pages.push(await read(seqs, direction, limit, page.pagination.next_scroll_id));
  }
  return pages;
}

describe('pages', () => {
  it('contain every message once in the requested order when read by next_scroll_id', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, directions, limits, async (seqs, direction, limit) => {
        const pages = await readAll(seqs, direction, limit);
        expect(pages.flatMap(seqsOf)).toEqual(inOrder(seqs, direction));
        expect(pages.slice(0, -1).every(({ data }) => data.length === limit)).toBe(true);
      }),
    );
  });

  it('are the same when read back by prev_scroll_id', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, directions, limits, async (seqs, direction, limit) => {
        const pages = await readAll(seqs, direction, limit);
        for (const [at, page] of pages.entries()) {
          const before = pages[at - 1];
          if (before === undefined) continue;
          const back = await read(seqs, direction, limit, page.pagination.prev_scroll_id);
          expect(seqsOf(back)).toEqual(seqsOf(before));
        }
      }),
    );
  });

  it('have a true flag if and only if the cursor exists', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, directions, limits, async (seqs, direction, limit) => {
        const pages = await readAll(seqs, direction, limit);
        for (const [at, { pagination }] of pages.entries()) {
          expect({ hasPrev: pagination.has_prev, hasNext: pagination.has_next }).toEqual({
            hasPrev: at > 0,
            hasNext: at < pages.length - 1,
          });
          expect({ hasPrev: pagination.prev_scroll_id !== null, hasNext: pagination.next_scroll_id !== null }).toEqual({
            hasPrev: at > 0,
            hasNext: at < pages.length - 1,
          });
        }
      }),
    );
  });

  it('do not shift when messages arrive while reading backward', async () => {
    await fc.assert(
      fc.asyncProperty(
        conversations,
        limits,
        fc.array(fc.nat({ max: 5 }), { minLength: 1 }),
        async (seqs, limit, arrivals) => {
          const growing = [...seqs];
          const pages = await readAll(growing, 'backward', limit, (page) => {
            const count = arrivals[page % arrivals.length] ?? 0;
            for (let n = 0; n < count; n += 1) growing.push(nextReply(growing));
          });
          expect(pages.flatMap(seqsOf)).toEqual(inOrder(seqs, 'backward'));
        },
      ),
    );
  });

  it('include messages that arrive while reading forward', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, limits, async (seqs, limit) => {
        const growing = [...seqs];
        const pages = await readAll(growing, 'forward', limit, (page) => {
          if (page <= 3) growing.push(nextReply(growing));
        });
        expect(pages.flatMap(seqsOf)).toEqual(inOrder(growing, 'forward'));
      }),
    );
  });
});
