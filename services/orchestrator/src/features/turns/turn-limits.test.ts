import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { AgentActivity, Outcome, ToolState } from '@uswarm/runtime-proto';
import { type Call, chunk, createScene, done, NOW } from '../../../test/turn-scene.js';

type EventInit = NonNullable<Call['events']>[number];
const KIB = 'x'.repeat(1_024);
const many = (count: number, make: (n: number) => EventInit): EventInit[] =>
  Array.from({ length: count }, (_, n) => make(n));
const tool = (callId: string, name = 't'): EventInit => ({
  case: 'tool',
  value: { callId, tool: name, state: ToolState.RUNNING },
});

describe('what a runtime may stream', () => {
  it('ends at 1 MiB of text, and keeps the text until then', async () => {
    const scene = createScene([{ events: [...many(10_000, () => chunk(KIB)), done()] }], {});
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'reply_too_long' });
    expect([scene.reply()?.status, scene.reply()?.text?.length]).toEqual(['incomplete', LIMITS.replyBytes]);
    expect(scene.seen.stops).toHaveLength(1);
  });

  it('takes exactly 1 MiB of text', async () => {
    const scene = createScene([{ events: [...many(1_024, () => chunk(KIB)), done()] }], {});
    await scene.run();
    expect([scene.seen.ended?.status, scene.reply()?.text?.length]).toEqual(['done', LIMITS.replyBytes]);
  });

  it.each<[string, string, EventInit[]]>([
    ['a final text that is longer', 'reply_too_long', [done('x'.repeat(LIMITS.replyBytes + 1))]],
    ['more tools', 'reply_too_many_parts', many(LIMITS.replyParts + 1, (n) => tool(`c${n}`))],
    [
      'more messages',
      'reply_too_many_parts',
      many(LIMITS.replyParts + 1, (n) => ({ case: 'message', value: { key: `k${n}` } })),
    ],
    ['changes of one tool without end', 'reply_too_many_parts', many(10 * LIMITS.replyParts + 1, () => tool('c'))],
    [
      'changes of its activity without end',
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
  ])('ends as failed with a code of its own for %s', async (_what, errorCode, events) => {
    const scene = createScene([{ events: [...events, done('42')] }], {});
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.seen.ended).toEqual({ status: 'failed', errorCode });
  });

  it('takes as many tools as a reply may use, with names as long as they may be', async () => {
    const events = many(LIMITS.replyParts, (n) => tool(`${n}`.padStart(256, 'c'), 't'.repeat(256)));
    const scene = createScene([{ events: [...events, done('42')] }], {});
    await scene.run();
    expect(scene.seen.ended?.status).toBe('done');
  });
});

describe('the deadline of a turn', () => {
  const MINUTE_MS = 60_000;

  it('ends a stream that goes on and on', async () => {
    let now = NOW.getTime();
    const clock = { now: () => new Date((now += 4 * MINUTE_MS)) };
    const scene = createScene([{ events: many(1_000, () => chunk('.')) }], { clock });
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'turn_deadline_exceeded' });
    expect([scene.reply()?.status, scene.seen.stops.length]).toEqual(['incomplete', 1]);
    expect(scene.reply()?.text?.length).toBeLessThan(10);
  });

  it('counts from the begin of the reply, whoever goes on with it', async () => {
    const started_at = new Date(NOW.getTime() - 31 * MINUTE_MS);
    const turn = { status: 'running', reply_message_id: 'r', runtime_instance: 'i', started_at } as const;
    const scene = createScene([{ events: [done('42')] }], { turn });
    await scene.run();
    expect([scene.seen.ended?.errorCode, scene.asked()]).toEqual(['turn_deadline_exceeded', []]);
  });

  it('can be set', async () => {
    const started_at = new Date(NOW.getTime() - 31 * MINUTE_MS);
    const turn = { status: 'running', reply_message_id: 'r', runtime_instance: 'i', started_at } as const;
    const scene = createScene([{ events: [done('42')] }], { turn, deadlineMs: 24 * 60 * MINUTE_MS });
    await scene.run();
    expect(scene.seen.ended?.status).toBe('done');
  });
});

describe('a turn of a user who is banned', () => {
  it('ends without asking the runtime while it waits', async () => {
    const scene = createScene([], { turn: { user_banned: true } });
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.seen.ended, scene.asked()]).toEqual([{ status: 'stopped', errorCode: 'user_banned' }, []]);
  });

  it('does not wait for a runtime that is not ready', async () => {
    const scene = createScene([], { turn: { user_banned: true }, runtime: { phase: 'Progressing', address: null } });
    expect(await scene.run()).toEqual({ done: true });
  });
});

describe('a turn for which no tokens are left unreserved', () => {
  it('waits, and begins once there are', async () => {
    let reserved = true;
    const scene = createScene([{ events: [done('42')] }], { reserved: () => reserved });
    expect(await scene.run()).toEqual({ againInMs: expect.any(Number) });
    expect(scene.asked()).toEqual([]);
    reserved = false;
    expect(await scene.run()).toEqual({ done: true });
  });
});
