import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { DEFAULT_SETTINGS } from '../../settings.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import { HubState } from './hub-state.js';
import { checkPositions } from './position-check.js';

function setUp(count: number, answer: (ids: readonly string[]) => Promise<void> = async () => undefined) {
  const requests: number[] = [];
  const checked = new Map<string, number>();
  const deleted: string[] = [];
  const timers = createManualTimers();
  const hubs = Array.from({ length: count }, (_, index) => {
    const state = new HubState(`w${index}`, DEFAULT_SETTINGS.hubs);
    state.restore({ last_seq: 5, epoch: 'e1' }, state.moment, 0);
    return {
      state,
      checked: (_epoch: string, seq: number) => void checked.set(state.workspaceId, seq),
      deleted: () => void deleted.push(state.workspaceId),
    };
  });
  const check = checkPositions({
    hubs: () => hubs,
    timers,
    logger: silentLogger,
    everyMs: DEFAULT_SETTINGS.hubs.positionCheckMs,
    orchestrator: {
      async positions(ids) {
        requests.push(ids.length);
        await answer(ids);
        const positions = ids.filter((id) => id !== 'w7').map((workspace_id) => ({ workspace_id, last_seq: 6 }));
        return { epoch: 'e1', positions };
      },
    },
  });
  return { check, requests, checked, deleted, timers, hubs };
}
/** The check is asynchronous. */
const settled = async (): Promise<void> => {
  for (let n = 0; n < 10; n += 1) await setImmediate();
};

describe('the check of positions', () => {
  it('I6: asks for all hubs within every 10 seconds, in requests of 1,000', async () => {
    const { requests, checked, deleted, timers } = setUp(2_500);
    timers.advance(7_999);
    expect(requests).toEqual([]);
    timers.advance(2_001);
    await settled();
    expect(requests).toEqual([1_000, 1_000, 500]);
    expect(checked.size).toBe(2_499);
    expect(deleted).toEqual(['w7']);
    timers.advance(10_000);
    await settled();
    expect(requests.length).toBe(6);
  });

  it('asks immediately after the bus was disconnected, also if a check is running', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { check, requests, timers } = setUp(1, () => promise);
    check.now();
    timers.advance(0);
    check.now();
    timers.advance(0);
    expect(requests).toEqual([1]);
    resolve();
    await settled();
    timers.advance(0);
    await settled();
    expect(requests).toEqual([1, 1]);
  });

  it('asks again soon after a failure', async () => {
    let failures = 3;
    const { requests, checked, timers } = setUp(1, async () => {
      failures -= 1;
      if (failures >= 0) throw new Error('unavailable');
    });
    timers.advance(10_000);
    for (let n = 0; n < 3; n += 1) {
      await settled();
      timers.advance(2_000);
    }
    await settled();
    expect({ requests: requests.length, checked: checked.size }).toEqual({ requests: 4, checked: 1 });
  });

  it('asks nothing without hubs, and nothing after it was stopped', async () => {
    const none = setUp(0);
    none.timers.advance(10_000);
    await settled();
    const stopped = setUp(1);
    stopped.check.stop();
    stopped.timers.advance(60_000);
    await settled();
    expect([none.requests, stopped.requests]).toEqual([[], []]);
  });
});
