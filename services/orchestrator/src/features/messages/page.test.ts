import { describe, expect, it } from '@jest/globals';
import type { MessagePage, PageQuery } from '@uswarm/contract';
import fc from 'fast-check';
import { createCursorCodec } from './cursor.js';
import type { MessageRow } from './message-view.js';
import type { MessageStore } from './messages.store.js';
import { readPage } from './page.js';
import { type Place, positionOf } from './place.js';

const cursors = createCursorCodec('a key of the tests, long enough for one');
const where = { userId: 'u', conversationId: 'c' };
const now = new Date('2026-11-21T10:00:00Z');
const showing = { now, avatar: () => '', attachment: () => ({}) as never };

const row = ({ seq, before_seq }: Place): MessageRow => ({
  id: String(seq),
  workspace_id: 'w',
  conversation_id: 'c',
  seq,
  before_seq,
  role: 'user',
  content: { type: 'text', text: '' },
  status: 'sent',
  error_code: null,
  edited_at: null,
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
const placeOf = (seq: number): Place => ({ seq, before_seq: seq % 3 === 0 ? seq - 2 : null });
const byPlace = (a: Place, b: Place): number => (positionOf(a) < positionOf(b) ? -1 : 1);

/** The two reads of a page, over an array that a test may add to. */
function arrayStore(seqs: number[]): Pick<MessageStore, 'page' | 'hasAny'> {
  const beyond = (side: 'older' | 'newer', place: Place | null) => {
    const sorted = seqs.map(placeOf).toSorted((a, b) => (side === 'older' ? byPlace(b, a) : byPlace(a, b)));
    return sorted.filter(
      (each) => place === null || (side === 'older' ? byPlace(each, place) : byPlace(place, each)) < 0,
    );
  };
  return {
    page: async (_conversation, side, place, limit) => beyond(side, place).slice(0, limit).map(row),
    hasAny: async (_conversation, side, place) => beyond(side, place).length > 0,
  };
}

/** The seq of a message that arrives last, and is listed last. */
const nextReply = (seqs: readonly number[]): number => Math.max(0, ...seqs) - (Math.max(0, ...seqs) % 3) + 4;

type Direction = PageQuery['direction'];
const read = (seqs: number[], direction: Direction, limit: number, scrollId?: string | null): Promise<MessagePage> =>
  readPage(
    { store: arrayStore(seqs), cursors },
    { direction, limit, ...(scrollId ? { scrollId } : {}) },
    where,
    showing,
  );
const seqsOf = ({ data }: MessagePage): number[] => data.map(({ id }) => Number(id));

const conversations = fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 40 });
const directions = fc.constantFrom<Direction>('forward', 'backward');
const limits = fc.integer({ min: 1, max: 12 });
const inOrder = (seqs: readonly number[], direction: Direction): number[] =>
  seqs
    .map(placeOf)
    .toSorted((a, b) => (direction === 'forward' ? byPlace(a, b) : byPlace(b, a)))
    .map(({ seq }) => seq);

async function walk(
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
  it('followed by next give every message once, in the order asked', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, directions, limits, async (seqs, direction, limit) => {
        const pages = await walk(seqs, direction, limit);
        expect(pages.flatMap(seqsOf)).toEqual(inOrder(seqs, direction));
        expect(pages.slice(0, -1).every(({ data }) => data.length === limit)).toBe(true);
      }),
    );
  });

  it('followed back by prev are the same pages', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, directions, limits, async (seqs, direction, limit) => {
        const pages = await walk(seqs, direction, limit);
        for (const [at, page] of pages.entries()) {
          const before = pages[at - 1];
          if (before === undefined) continue;
          const back = await read(seqs, direction, limit, page.pagination.prev_scroll_id);
          expect(seqsOf(back)).toEqual(seqsOf(before));
        }
      }),
    );
  });

  it('say whether there is more: a flag is true exactly when its cursor is there', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, directions, limits, async (seqs, direction, limit) => {
        const pages = await walk(seqs, direction, limit);
        for (const [at, { pagination }] of pages.entries()) {
          expect([pagination.has_prev, pagination.has_next]).toEqual([at > 0, at < pages.length - 1]);
          expect([pagination.prev_scroll_id !== null, pagination.next_scroll_id !== null]).toEqual([
            at > 0,
            at < pages.length - 1,
          ]);
        }
      }),
    );
  });

  it('going backward are not moved by messages that arrive meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(
        conversations,
        limits,
        fc.array(fc.nat({ max: 5 }), { minLength: 1 }),
        async (seqs, limit, arrivals) => {
          const growing = [...seqs];
          const pages = await walk(growing, 'backward', limit, (page) => {
            const count = arrivals[page % arrivals.length] ?? 0;
            for (let n = 0; n < count; n += 1) growing.push(nextReply(growing));
          });
          expect(pages.flatMap(seqsOf)).toEqual(inOrder(seqs, 'backward'));
        },
      ),
    );
  });

  it('going forward take in what arrives meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, limits, async (seqs, limit) => {
        const growing = [...seqs];
        const pages = await walk(growing, 'forward', limit, (page) => {
          if (page <= 3) growing.push(nextReply(growing));
        });
        expect(pages.flatMap(seqsOf)).toEqual(inOrder(growing, 'forward'));
      }),
    );
  });
});
