import { describe, expect, it } from '@jest/globals';
import { ApiError, LIMITS } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import fc from 'fast-check';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import { OTHER_WORKSPACE, WORKSPACE } from '../../../test/envelopes.js';
import { startTestGateway, USER } from '../../../test/test-gateway.js';
import { DEFAULT_SETTINGS } from '../../settings.js';
import { createPositionReports } from './position-reports.js';

type Positions = Parameters<OrchestratorClient['devicePositions']>[0];

function setUp(everyMs = 10_000) {
  const requests: Positions[] = [];
  let failure: Error | undefined;
  const timers = createManualTimers();
  const reports = createPositionReports({
    timers,
    logger: silentLogger,
    everyMs,
    orchestrator: {
      async devicePositions(positions) {
        requests.push(positions);
        if (failure !== undefined) throw failure;
      },
    },
  });
  return { reports, requests, timers, fail: (error: Error | undefined) => (failure = error) };
}
/** Lets time pass, and what follows from it. */
async function passes(timers: ReturnType<typeof createManualTimers>, ms: number): Promise<void> {
  timers.advance(ms);
  await new Promise(setImmediate);
}
const position = (seq: number, device = 'd1') => ({
  user_id: USER,
  device_id: device,
  workspace_id: WORKSPACE,
  seq,
});

describe('the positions of devices', () => {
  it('are forwarded at most every 10 seconds, the highest of each device', async () => {
    const { reports, requests, timers } = setUp();
    for (const seq of [1, 3, 2]) reports.add(position(seq));
    reports.add(position(1, 'd2'));
    timers.advance(9_999);
    expect(requests).toEqual([]);
    timers.advance(1);
    expect(requests).toEqual([[position(3), position(1, 'd2')]]);
    timers.advance(60_000);
    expect(requests.length).toBe(1);
  });

  it('are forwarded in requests of 1,000', async () => {
    const { reports, requests, timers } = setUp();
    for (let n = 0; n < 2_500; n += 1) reports.add(position(1, `d${n}`));
    timers.advance(10_000);
    await new Promise(setImmediate);
    expect(requests.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  });

  it('are forwarded again after a failure, also if no report follows', async () => {
    const { reports, requests, timers, fail } = setUp();
    fail(new ApiError('service_unavailable'));
    reports.add(position(1));
    await passes(timers, 10_000);
    fail(undefined);
    await passes(timers, 60_000);
    expect(requests).toEqual([[position(1)], [position(1)]]);
  });

  it('are all forwarded after a failure, unless a newer one of the device waits', async () => {
    const { reports, requests, timers, fail } = setUp();
    for (let n = 0; n < 1_500; n += 1) reports.add(position(1, `d${n}`));
    fail(new ApiError('service_unavailable'));
    timers.advance(10_000);
    reports.add(position(2, 'd0'));
    fail(undefined);
    await passes(timers, 0);
    await passes(timers, 10_000);
    const stored = requests.slice(1).flat();
    expect(stored).toHaveLength(1_500);
    expect(stored.filter(({ device_id: id }) => id === 'd0')).toEqual([position(2, 'd0')]);
  });

  it('are dropped if the orchestrator refuses them', async () => {
    const { reports, requests, timers, fail } = setUp();
    fail(new ApiError('validation_failed'));
    reports.add(position(1));
    await passes(timers, 60_000);
    expect(requests).toEqual([[position(1)]]);
  });

  it('arrive before the notification if their device reports at the documented pace, also if a request fails', () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          phase: fc.nat({ max: LIMITS.positions.deviceMs - 1 }),
          answered: fc.nat({ max: 60_000 }),
          failing: fc.nat({ max: 20 }),
        }),
        async ({ phase, answered, failing }) => {
          const { reports, requests, timers, fail } = setUp(DEFAULT_SETTINGS.positionReportMs);
          let storedAt: number | undefined;
          const step = 100;
          for (let now = 0; storedAt === undefined && now < 120_000; now += step) {
            const before = requests.length;
            if (now >= phase && (now - phase) % LIMITS.positions.deviceMs < step)
              reports.add(position(now >= answered ? 2 : 1));
            fail(before === failing ? new ApiError('service_unavailable') : undefined);
            await passes(timers, step);
            const isStored = requests.length > before && before !== failing && requests.at(-1)?.[0]?.seq === 2;
            if (isStored) storedAt = now;
          }
          expect(storedAt ?? Infinity).toBeLessThan(answered + LIMITS.positions.announceMs);
        },
      ),
    ));
});

describe('position', () => {
  it('forwards what was sent to the device, and nothing else', async () => {
    const { promise: forwarded, resolve } = Promise.withResolvers<Positions>();
    const gateway = await startTestGateway({
      settings: { positionReportMs: 20 },
      orchestrator: { devicePositions: async (positions) => resolve(positions) },
    });
    try {
      const phone = await gateway.connect({ auth: { 'x-token': 't', 'x-device-id': 'phone' } });
      const unnamed = await gateway.connect();
      for (const client of [phone, unnamed]) {
        await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE], since: { [WORKSPACE]: 0 } });
      }
      expect(await unnamed.ask('position', { [WORKSPACE]: 0 })).toEqual({ ok: true });
      expect(await phone.ask('position', { [WORKSPACE]: 1 })).toEqual({ ok: true });
      expect(await phone.ask('position', { [OTHER_WORKSPACE]: 0, [WORKSPACE]: 0 })).toEqual({ ok: true });
      expect(await phone.ask('position', { [WORKSPACE]: -1 })).toMatchObject({ code: 'validation_failed' });
      expect(await forwarded).toEqual([{ user_id: USER, device_id: 'phone', workspace_id: WORKSPACE, seq: 0 }]);
    } finally {
      await gateway.close();
    }
  });
});
