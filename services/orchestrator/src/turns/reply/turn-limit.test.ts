import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import {
  type Call,
  chunk,
  createTurnHarness,
  done,
  failure,
  stopped,
  thinking,
  tool,
  used,
} from '../../../test/turn-harness.js';
import type { LimitReached } from '../../metering/usage-limits.js';
import { limitNote } from '../../metering/limit-note.js';

describe('the note about a limit', () => {
  const resets_at = '2026-12-01T00:00:00.000Z';
  it.each<[string, LimitReached]>([
    ['The token limit of your plan', { scope: 'user', token_limit: 10, resets_at }],
    ['The token limit of this workspace', { scope: 'workspace', token_limit: 10, resets_at }],
    [
      'The budget of this workspace ($2.50)',
      { scope: 'budget', cost_limit_micros: 2_500_000, currency: 'USD', resets_at },
    ],
    ['The budget of this workspace (10,000 tokens)', { scope: 'budget', token_limit: 10_000, resets_at }],
  ])('names it: %s', (named, limit) => {
    expect(limitNote(limit)).toBe(`${named} for this month is reached. It resets on 2026-12-01 (UTC).`);
  });
});

describe('the turn worker', () => {
  let harness: ReturnType<typeof createTurnHarness>;
  const play = (script: Call[], more: Parameters<typeof createTurnHarness>[1] = {}) =>
    (harness = createTurnHarness(script, more));

  describe('when the tokens of the month are used up', () => {
    const NOTE = 'The token limit of your plan for this month is reached. It resets on 2026-12-01 (UTC).';
    const LIMITED = { status: 'failed', errorCode: 'token_limit_reached' };
    const SENTENCE = 'The token limit of this month is reached.';
    const limited = () => true;
    // The first model call's usage reaches the limit: the check before the turn passes, later checks fail.
    const afterFirstCheck = () => {
      let checks = 0;
      return () => (checks += 1) > 1;
    };

    it('fails a queued turn without a call to the runtime, and adds a note', async () => {
      play([], { limited });
      expect(await harness.run()).toEqual({ done: true, isCompleted: true });
      expect(harness.recorded.ended).toEqual(LIMITED);
      expect(harness.recorded.notes).toEqual([NOTE]);
      expect(harness.calls()).toEqual([]);
      expect(harness.reply()).toEqual({ text: SENTENCE, status: 'failed' });
      expect(harness.userMessage()?.status).toBe('failed');
    });

    it('completes a turn whose last model call reaches the limit', async () => {
      play([{ events: [chunk('42'), used, chunk('!'), done()] }], { limited: afterFirstCheck() });
      expect(await harness.run()).toEqual({ done: true, isCompleted: true });
      expect(harness.reply()).toEqual({ text: '42!', status: 'delivered' });
      expect(harness.recorded.notes).toEqual([]);
      expect(harness.recorded.stops).toEqual([]);
    });

    it('stops a turn that continues, and fails it with its text so far', async () => {
      const events = [chunk('Let me see'), used, tool, thinking, used, stopped];
      play([{ events }], { limited: afterFirstCheck() });
      expect(await harness.run()).toEqual({ done: true, isCompleted: true });
      expect(harness.recorded.stops).toEqual([{ turnId: 't', generation: 1 }]);
      expect(harness.recorded.ended).toEqual(LIMITED);
      expect(harness.recorded.notes).toEqual([NOTE]);
      expect(harness.reply()).toEqual({ text: 'Let me see', status: 'incomplete' });
    });

    it('fails a turn without text with a message', async () => {
      play([{ events: [used, tool, stopped] }], { limited: afterFirstCheck() });
      await harness.run();
      expect(harness.reply()).toEqual({ text: SENTENCE, status: 'failed' });
    });

    it('completes a turn that ends before it can be stopped', async () => {
      play([{ events: [used, thinking, chunk('42'), done()] }], { limited: afterFirstCheck() });
      await harness.run();
      expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
      expect(harness.recorded.notes).toEqual([]);
    });

    it('does not restart a turn that the runtime lost', async () => {
      play([{ events: [used, tool] }, failure(Code.NotFound)], { limited: afterFirstCheck() });
      expect(await harness.run()).toEqual({ done: true, isCompleted: true });
      expect(harness.recorded.ended).toEqual(LIMITED);
      expect(harness.calls().length).toBe(2);
    });
  });
});
