import { describe, expect, it } from '@jest/globals';
import { ANSWERED, type Call, chunk, createTurnHarness, entry } from '../../test/turn-harness.js';
import { NOW } from '../../test/turn-rows.js';

const WAIT_MS = 600_000;
const limited: Call = {
  events: [entry(1), chunk('Half'), { case: 'waiting', value: { retryAfterMs: WAIT_MS } }],
};
const features = ['journal.1'];

describe('a turn whose model provider asks to wait', () => {
  it('releases its worker, and stops the generation in the runtime', async () => {
    const harness = createTurnHarness([limited], { features });
    expect(await harness.run()).toEqual({ againInMs: WAIT_MS });
    expect(harness.recorded).toMatchObject({ waits: [WAIT_MS], stops: [{ turnId: 't', generation: 1 }] });
    expect(harness.recorded.ended).toBeUndefined();
    expect(harness.reply()?.status).toBeUndefined();
  });

  it('continues with its journal in the next generation', async () => {
    const harness = createTurnHarness([limited, ANSWERED], { features });
    await harness.run();
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls().at(-1)).toEqual({ generation: 2, fromEvent: 0 });
    expect(harness.recorded.requests.at(-1)?.journal).toHaveLength(1);
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it('waits for the rest of the time if its job is due early', async () => {
    const turn = { status: 'running', waits_until: new Date(NOW.getTime() + WAIT_MS) } as const;
    const harness = createTurnHarness([], { turn, features, clock: { now: () => NOW } });
    expect(await harness.run()).toEqual({ againInMs: WAIT_MS });
  });

  it('ends without another call of the model, and keeps its text, if it is stopped while it waits', async () => {
    const harness = createTurnHarness([limited], { features });
    await harness.run();
    harness.change({ waits_until: new Date(NOW.getTime() + WAIT_MS) });
    harness.requestStop();
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended?.status).toBe('stopped');
    expect(harness.reply()).toEqual({ text: 'Half', status: 'incomplete' });
    expect(harness.calls()).toHaveLength(1);
  });

  it('is postponed also if the runtime does not accept the stop', async () => {
    const harness = createTurnHarness([limited], { features, unstoppable: true });
    expect(await harness.run()).toEqual({ againInMs: WAIT_MS });
  });

  it.each([
    ['may wait', ['journal.1'], true],
    ['may not wait if its runtime has no journal', [], false],
  ])('%s', async (_what, offered, canWait) => {
    const harness = createTurnHarness([ANSWERED], { features: offered });
    await harness.run();
    expect(harness.recorded.requests[0]).toMatchObject({ canWait });
  });
});
