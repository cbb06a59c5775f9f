import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { HistoryRow } from './history.store.js';
import { HISTORY_BYTES } from './history.store.js';
import {
  GROWTH,
  HISTORY_MESSAGES,
  maxMessagesOf,
  MOST_WHOLE,
  neededMessages,
  needsSummary,
  wholeBytes,
  wholeMessages,
  windowOf,
} from './summary-need.js';

const rows = (count: number, text = 'x', covered = 0): HistoryRow[] =>
  Array.from({ length: count }, (_, n) => ({
    id: String(n),
    role: 'user',
    agent_id: null,
    text,
    ...(n >= count - covered ? { covered: true } : {}),
  }));
const ofWindow = (tokens: number) =>
  wholeMessages(windowOf({ context_window: tokens, max_output_tokens: 4_096 }, null));

describe('the messages that are sent whole', () => {
  it('follow the window of the model', () => {
    const bytes = [4_096, 8_192, 32_768, 128_000, 200_000, 1_000_000].map((tokens) => ofWindow(tokens).bytes);
    expect(bytes).toEqual([1_075, 4_162, 40_550, 176_256, 278_856, MOST_WHOLE.bytes]);
  });

  it('are those of 64,000 tokens if the window is unknown', () => {
    expect(wholeMessages(windowOf(undefined, null)).bytes).toBe(85_056);
  });

  it('follow the window that the operator has set or the model server has stated', () => {
    const catalogue = { context_window: 128_000, max_output_tokens: 8_192 };
    const stated = { contextWindow: 0, windows: [{ model: 'flash', tokens: 4_096 }] };
    expect(windowOf(catalogue, 'flash', stated)).toEqual({ tokens: 4_096, maxOutputTokens: 1_024 });
    expect(windowOf(catalogue, 'opus', stated)).toEqual({ tokens: 128_000, maxOutputTokens: 8_192 });
    expect(windowOf(catalogue, null, { contextWindow: 8_192, windows: [] }).tokens).toBe(8_192);
    expect(windowOf(catalogue, null, { contextWindow: 0, windows: [{ model: '', tokens: 2_048 }] }).tokens).toBe(2_048);
  });

  it('fit into a request with those that arrive before the next summary', () => {
    expect(MOST_WHOLE.count + GROWTH).toBeLessThan(HISTORY_MESSAGES);
    // Release 0.2 accepts 200 messages.
    expect(wholeMessages(windowOf(undefined, null), maxMessagesOf([])).count + GROWTH).toBeLessThan(200);
    expect(MOST_WHOLE.bytes + 64 * 1024).toBeLessThan(HISTORY_BYTES);
  });
});

describe('a conversation', () => {
  const whole = { count: 60, bytes: 48 * 1024 };

  it('needs a summary when 20 messages exceed those that are sent whole', () => {
    expect(needsSummary(rows(79), whole)).toBe(false);
    expect(needsSummary(rows(80), whole)).toBe(true);
  });

  it('needs a summary when half as many bytes exceed those that are sent whole', () => {
    const text = 'x'.repeat(whole.bytes / 4 - wholeBytes(''));
    expect(needsSummary(rows(4 + 1, text), whole)).toBe(false);
    expect(needsSummary(rows(4 + 2, text), whole)).toBe(true);
  });

  it('needs no summary for one large message', () => {
    expect(needsSummary(rows(1, 'x'.repeat(whole.bytes + 1)), whole)).toBe(false);
  });

  it('needs no further summary for messages that one covers', () => {
    expect(needsSummary(rows(100, 'x', 30), whole)).toBe(false);
    expect(needsSummary(rows(100, 'x', 20), whole)).toBe(true);
  });

  it('is sent without a gap after its summary, and as far back as the window has room', () => {
    const shape = {
      count: fc.nat(200),
      covered: fc.nat(200),
      length: fc.nat(2_000),
      tokens: fc.integer({ min: 2_000, max: 200_000 }),
    };
    fc.assert(
      fc.property(fc.record(shape), ({ count, covered, length, tokens }) => {
        const all = rows(count, 'x'.repeat(length), Math.min(covered, count));
        const limits = ofWindow(tokens);
        const sent = neededMessages(all, limits);
        expect(sent).toEqual(all.slice(0, sent.length));
        expect(all.slice(sent.length).every((row) => row.covered === true)).toBe(true);
        const room = Math.min(count, Math.floor(limits.bytes / wholeBytes('x'.repeat(length))));
        expect(sent.length).toBeGreaterThanOrEqual(room);
      }),
    );
  });
});
