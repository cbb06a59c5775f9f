import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { AgentActivity, Outcome, ToolState } from '@uswarm/runtime-proto';
import { type Call, chunk, createTurnHarness, done } from '../../test/turn-harness.js';
import { NOW } from '../../test/turn-rows.js';

type EventInit = NonNullable<Call['events']>[number];
const KIB = 'x'.repeat(1_024);
const many = (count: number, make: (n: number) => EventInit): EventInit[] =>
  Array.from({ length: count }, (_, n) => make(n));
const tool = (callId: string, name = 't'): EventInit => ({
  case: 'tool',
  value: { callId, tool: name, state: ToolState.RUNNING },
});

describe('the limits of a stream', () => {
  it('end a turn at 1 MiB of text, and keep that text', async () => {
    const harness = createTurnHarness([{ events: [...many(10_000, () => chunk(KIB)), done()] }], {});
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'reply_too_long' });
    expect(harness.reply()?.status).toBe('incomplete');
    expect(harness.reply()?.text?.length).toEqual(LIMITS.replyBytes);
    expect(harness.recorded.stops).toHaveLength(1);
  });

  it('allow exactly 1 MiB of text', async () => {
    const harness = createTurnHarness([{ events: [...many(1_024, () => chunk(KIB)), done()] }], {});
    await harness.run();
    expect(harness.recorded.ended?.status).toBe('done');
    expect(harness.reply()?.text?.length).toEqual(LIMITS.replyBytes);
  });

  it.each<[string, string, EventInit[]]>([
    ['a final text over the limit', 'reply_too_long', [done('x'.repeat(LIMITS.replyBytes + 1))]],
    ['too many tools', 'reply_too_many_parts', many(LIMITS.replyParts + 1, (n) => tool(`c${n}`))],
    [
      'more messages',
      'reply_too_many_parts',
      many(LIMITS.replyParts + 1, (n) => ({ case: 'message', value: { key: `k${n}` } })),
    ],
    ['too many changes of one tool', 'reply_too_many_parts', many(10 * LIMITS.replyParts + 1, () => tool('c'))],
    [
      'endless changes of the activity',
      'reply_too_many_parts',
      many(10 * LIMITS.replyParts + 1, (n) => ({
        case: 'activity',
        value: { activity: n % 2 === 0 ? AgentActivity.THINKING : AgentActivity.WRITING },
      })),
    ],
    ['a long id of a tool call', 'runtime_output_invalid', [tool('c'.repeat(257))]],
    ['a long name of a tool', 'runtime_output_invalid', [tool('c', 't'.repeat(257))]],
    ['a long key of a message', 'runtime_output_invalid', [{ case: 'message', value: { key: 'k'.repeat(257) } }]],
    [
      'a long error code',
      'runtime_output_invalid',
      [{ case: 'done', value: { outcome: Outcome.FAILED, errorCode: 'e'.repeat(257) } }],
    ],
  ])('fail a turn with %s with a specific code', async (_what, errorCode, events) => {
    const harness = createTurnHarness([{ events: [...events, done('42')] }], {});
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode });
  });

  it('allow the maximum number of tools with names of the maximum length', async () => {
    const events = many(LIMITS.replyParts, (n) => tool(`${n}`.padStart(256, 'c'), 't'.repeat(256)));
    const harness = createTurnHarness([{ events: [...events, done('42')] }], {});
    await harness.run();
    expect(harness.recorded.ended?.status).toBe('done');
  });
});

describe('the deadline of a turn', () => {
  const MINUTE_MS = 60_000;

  it('ends an endless stream', async () => {
    let now = NOW.getTime();
    const clock = { now: () => new Date((now += 4 * MINUTE_MS)) };
    const harness = createTurnHarness([{ events: many(1_000, () => chunk('.')) }], { clock });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'turn_deadline_exceeded' });
    expect(harness.reply()?.status).toBe('incomplete');
    expect(harness.recorded.stops.length).toBe(1);
    expect(harness.reply()?.text?.length).toBeLessThan(10);
  });

  it('is measured from the start of the turn, also after another worker takes over', async () => {
    const started_at = new Date(NOW.getTime() - 31 * MINUTE_MS);
    const turn = { status: 'running', reply_message_id: 'r', runtime_instance: 'i', started_at } as const;
    const harness = createTurnHarness([{ events: [done('42')] }], { turn });
    await harness.run();
    expect(harness.recorded.ended?.errorCode).toBe('turn_deadline_exceeded');
    expect(harness.calls()).toEqual([]);
  });

  it('is configurable', async () => {
    const started_at = new Date(NOW.getTime() - 31 * MINUTE_MS);
    const turn = { status: 'running', reply_message_id: 'r', runtime_instance: 'i', started_at } as const;
    const harness = createTurnHarness([{ events: [done('42')] }], { turn, deadlineMs: 24 * 60 * MINUTE_MS });
    await harness.run();
    expect(harness.recorded.ended?.status).toBe('done');
  });
});

describe('a turn of a user who is banned', () => {
  it('ends without a call to the runtime while it is queued', async () => {
    const harness = createTurnHarness([], { turn: { user_banned: true } });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual({ status: 'stopped', errorCode: 'user_banned' });
    expect(harness.calls()).toEqual([]);
  });
});

describe('a turn for which no unreserved tokens are left', () => {
  it('waits until tokens are available', async () => {
    let reserved = true;
    const harness = createTurnHarness([{ events: [done('42')] }], { reserved: () => reserved });
    expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    expect(harness.calls()).toEqual([]);
    reserved = false;
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
  });

  it('does not call its runtime while it waits', async () => {
    let calls = 0;
    const harness = createTurnHarness([], { reserved: () => true, onIdentify: () => void (calls += 1) });
    await harness.run({ attempts: 2 });
    expect(calls).toBe(0);
  });
});
