import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import { OTHER_WORKSPACE, WORKSPACE } from '../../../test/envelopes.js';
import { startTestGateway, USER } from '../../../test/test-gateway.js';
import { createPositionReports } from './position-reports.js';

type Positions = Parameters<OrchestratorClient['devicePositions']>[0];

function setUp(fail = false) {
  const requests: Positions[] = [];
  const timers = createManualTimers();
  const reports = createPositionReports({
    timers,
    logger: silentLogger,
    everyMs: 10_000,
    orchestrator: {
      async devicePositions(positions) {
        requests.push(positions);
        if (fail) throw new Error('unavailable');
      },
    },
  });
  return { reports, requests, timers };
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

  it('are forwarded again with the next report after a failure', async () => {
    const { reports, requests, timers } = setUp(true);
    reports.add(position(1));
    timers.advance(10_000);
    reports.add(position(2));
    timers.advance(10_000);
    expect(requests).toEqual([[position(1)], [position(2)]]);
  });
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
