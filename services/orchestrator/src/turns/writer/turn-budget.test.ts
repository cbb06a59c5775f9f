import { describe, expect, it } from '@jest/globals';
import { type Call, chunk, createTurnHarness, done, entry, stopped, thinking } from '../../../test/turn-harness.js';

type EventInit = NonNullable<Call['events']>[number];

const attempt = (step: number, more: object = {}): EventInit => ({
  case: 'attempt',
  value: { step, provider: 'p', model: 'm', promptTokens: 60n, maxOutputTokens: 40n, ...more },
});
const usage = (step: number, more: object = {}): EventInit => ({
  case: 'usage',
  value: { step, provider: 'p', model: 'm', promptTokens: 6n, completionTokens: 4n, ...more },
});
const RUNTIME = { features: ['journal.1', 'budget.1'] };

describe('an announced model call', () => {
  it('is reserved before the runtime passes the barrier', async () => {
    const harness = createTurnHarness([{ events: [attempt(1), usage(1), done('42')], barriers: [1] }], RUNTIME);
    await harness.run();
    expect(harness.recorded).toMatchObject({ reservations: [1], commits: [1], ended: { status: 'done' } });
  });

  it('is asked for only from runtimes with the feature', async () => {
    const features = [['journal.1', 'budget.1'], ['journal.1'], []];
    const asked = await Promise.all(
      features.map(async (of) => {
        const harness = createTurnHarness([{ events: [done('42')] }], { features: of });
        await harness.run();
        return harness.recorded.requests[0]?.budgeted;
      }),
    );
    expect(asked).toEqual([true, false, false]);
  });

  it('is released if the provider refused it', async () => {
    const events = [attempt(1), usage(1, { refused: true }), attempt(2), usage(2), done('42')];
    const harness = createTurnHarness([{ events, barriers: [1, 3] }], RUNTIME);
    await harness.run();
    expect(harness.recorded).toMatchObject({ reservations: [1, 2], releases: [1], commits: [1, 3] });
  });

  it('invariant 9: suspends the turn with a card if the budget is spent, and is never committed', async () => {
    const events = [chunk('So far.'), entry(1), attempt(1)];
    const harness = createTurnHarness([{ events, barriers: [3] }], { ...RUNTIME, left: () => 'none' });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded).toMatchObject({ suspended: true, ended: undefined, reservations: [], commits: [] });
    expect(harness.recorded.cards).toEqual([
      'This answer has used 1,000 tokens. Continue?: “Continue” allows 1,000 more tokens. “Stop” ends the answer with what it has.',
    ]);
    expect(harness.recorded.stops).toHaveLength(1);
    expect(harness.reply()).toMatchObject({ text: 'So far.', status: 'delivered' });
  });

  it('suspends the turn if the model gateway refused it, and is repeated if tokens are left again', async () => {
    let left: 'some' | 'none' = 'some';
    const events = [attempt(1, { metered: true }), done('42')];
    const granted = createTurnHarness([{ events, barriers: [1] }], { ...RUNTIME, left: () => left });
    await granted.run();
    expect(granted.recorded).toMatchObject({ reservations: [], commits: [1], ended: { status: 'done' } });

    left = 'none';
    const refused = createTurnHarness([{ events, barriers: [1] }], { ...RUNTIME, left: () => left });
    await refused.run();
    expect(refused.recorded).toMatchObject({ suspended: true, reservations: [], commits: [] });
  });

  it('waits while running calls of other turns have reserved what is left of the budget', async () => {
    const left = ['reserved', 'reserved', 'some'] as const;
    let checks = 0;
    const harness = createTurnHarness([{ events: [attempt(1), usage(1), done('42')], barriers: [1] }], {
      ...RUNTIME,
      left: () => left[Math.min(checks++, left.length - 1)]!,
    });
    await harness.run();
    expect(checks).toBe(3);
    expect(harness.recorded).toMatchObject({ reservations: [1], commits: [1], cards: [], ended: { status: 'done' } });
  });

  it('is reserved by the process that takes over while it waits for the tokens of other turns', async () => {
    let checks = 0;
    const announced = [attempt(1), usage(1), done('42')];
    const calls = [
      { events: [chunk('So far.'), entry(1), ...announced], barriers: [3] },
      { events: announced, barriers: [1] },
    ];
    const harness = createTurnHarness(calls, {
      ...RUNTIME,
      left() {
        checks += 1;
        if (checks === 2) throw new Error('the process ends');
        return checks === 1 ? 'reserved' : 'some';
      },
    });
    await expect(harness.run()).rejects.toThrow('the process ends');
    await harness.run();
    expect(harness.calls().map(({ fromEvent }) => fromEvent)).toEqual([0, 2]);
    expect(harness.recorded).toMatchObject({ reservations: [1], commits: [3], ended: { status: 'done' } });
  });

  it('asks with a card if the other calls never give tokens back', async () => {
    const events = [attempt(1)];
    const harness = createTurnHarness([{ events, barriers: [1] }], { ...RUNTIME, left: () => 'reserved' });
    await harness.run();
    expect(harness.recorded).toMatchObject({ suspended: true, reservations: [], commits: [] });
    expect(harness.recorded.cards).toHaveLength(1);
  });

  it('is never committed if the user stops the turn while it waits', async () => {
    let checks = 0;
    const harness = createTurnHarness([{ events: [chunk('So far.'), attempt(1), stopped], barriers: [2] }], {
      ...RUNTIME,
      left() {
        checks += 1;
        if (checks === 2) harness.stopNow();
        return 'reserved';
      },
    });
    await harness.run();
    expect(harness.recorded).toMatchObject({ reservations: [], commits: [], cards: [], ended: { status: 'stopped' } });
  });

  it('ends the turn without a card if the monthly limit is reached in its middle, and is never committed', async () => {
    let limited = false;
    const events = [thinking, chunk('So far.'), attempt(1), stopped];
    const harness = createTurnHarness([{ events, barriers: [3] }], { ...RUNTIME, limited: () => limited });
    const running = harness.run();
    limited = true;
    await running;
    expect(harness.recorded).toMatchObject({ suspended: false, reservations: [], commits: [], cards: [] });
    expect(harness.recorded.ended).toMatchObject({ errorCode: 'token_limit_reached' });
  });

  it.each<[string, EventInit[]]>([
    ['an impossible estimate', [attempt(1, { promptTokens: 100_000_001n })]],
    ['an impossible output limit', [attempt(1, { maxOutputTokens: 2n ** 63n })]],
    ['impossible usage', [attempt(1), usage(1, { completionTokens: 100_000_001n })]],
    ['a step that is too large', [usage(10_001)]],
    ['a step that was announced before', [attempt(1), usage(1), attempt(1, { promptTokens: 1n })]],
    ['a step before the last one', [attempt(2), attempt(1)]],
  ])('invariant 12: ends the turn with a specific code if the runtime reports %s', async (_what, events) => {
    const harness = createTurnHarness([{ events: [...events, done('42')] }], RUNTIME);
    await harness.run();
    expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'runtime_output_invalid' });
  });
});
