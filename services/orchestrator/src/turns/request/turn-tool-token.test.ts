import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { ANSWERED, chunk, createTurnHarness, done, failure } from '../../../test/turn-harness.js';
import type { TurnRow } from '../turns.store.js';

const TOOLS = ['web_search_tool'];

describe('the tool token of a turn', () => {
  it('is sent with the request, for the workspace, agent and turn', async () => {
    const harness = createTurnHarness([ANSWERED], { tools: TOOLS });
    await harness.run();
    expect(harness.recorded.requests.map(({ toolToken }) => toolToken)).toEqual(['list token of w a t 1']);
  });

  it('is replaced when the orchestrator reconnects to the turn', async () => {
    const harness = createTurnHarness([{ events: [chunk('4')], ...failure(Code.Unavailable) }, ANSWERED], {
      tools: TOOLS,
    });
    await harness.run();
    expect(harness.recorded.requests.map(({ toolToken }) => toolToken)).toEqual([
      'list token of w a t 1',
      'list token of w a t 2',
    ]);
  });

  it('is not created for an agent without tools', async () => {
    const harness = createTurnHarness([ANSWERED], { tools: [] });
    await harness.run();
    expect(harness.recorded.requests.map(({ toolToken }) => toolToken)).toEqual(['']);
  });

  it('is renewed while the turn runs', async () => {
    const renewed = async (): Promise<void> => void (await eventually(() => harness.recorded.renewals.length >= 2));
    const harness = createTurnHarness([{ events: [chunk('4')], atTheEnd: renewed }, ANSWERED], {
      tools: TOOLS,
      renewToolTokenMs: 5,
    });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.renewals.slice(0, 2)).toEqual(['list token of w a t 2', 'list token of w a t 3']);
  });

  it.each<[string, Partial<TurnRow> | undefined]>([
    ['of a user who was banned', { user_banned: true }],
    ['that is to be stopped', { stop_requested: true }],
    ['that ended', { status: 'stopped' }],
    ['that was deleted with its workspace', undefined],
  ])('is not renewed for a turn %s', async (_what, change) => {
    const harness = createTurnHarness(
      [
        {
          events: [chunk('4')],
          async atTheEnd() {
            const before = harness.change(change);
            await eventually(() => harness.recorded.reads >= before + 3);
          },
        },
        { events: [done('42')] },
      ],
      { tools: TOOLS, renewToolTokenMs: 5 },
    );
    await harness.run();
    expect(harness.recorded.renewals).toEqual([]);
  });
});

describe('the model token of a turn', () => {
  const TOKEN = 'model token of w a t for a turn';

  it('is sent with the request and renewed, also for an agent without tools', async () => {
    const renewed = async (): Promise<void> =>
      void (await eventually(() => harness.recorded.modelRenewals.length >= 2));
    const harness = createTurnHarness([{ events: [chunk('4')], atTheEnd: renewed }, ANSWERED], {
      tools: [],
      modelGateway: true,
      renewToolTokenMs: 5,
    });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.requests[0]?.modelToken).toBe(TOKEN);
    expect(harness.recorded.modelRenewals.slice(0, 2)).toEqual([TOKEN, TOKEN]);
  });

  it('is empty without a model gateway', async () => {
    const harness = createTurnHarness([ANSWERED], { tools: TOOLS });
    await harness.run();
    expect(harness.recorded.requests[0]?.modelToken).toBe('');
  });
});
