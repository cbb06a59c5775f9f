import { describe, expect, it } from '@jest/globals';
import type { HistoryRow } from './history.store.js';
import { GROWTH, needsSummary, WHOLE } from './summary-need.js';

const rows = (count: number, text = 'x'): HistoryRow[] =>
  Array.from({ length: count }, (_, n) => ({ id: String(n), role: 'user', agent_id: null, text }));

describe('a conversation', () => {
  it('needs a summary when 20 messages exceed the newest 60', () => {
    expect({ whole: WHOLE.count, growth: GROWTH }).toEqual({ whole: 60, growth: 20 });
    expect(needsSummary(rows(79))).toBe(false);
    expect(needsSummary(rows(80))).toBe(true);
  });

  it('needs a summary when 20 messages exceed the newest 48 KiB', () => {
    const text = 'x'.repeat(WHOLE.bytes / 4);
    expect(needsSummary(rows(4 + 19, text))).toBe(false);
    expect(needsSummary(rows(4 + 20, text))).toBe(true);
  });

  it('needs no summary for one large message', () => {
    expect(needsSummary(rows(1, 'x'.repeat(WHOLE.bytes + 1)))).toBe(false);
  });
});
