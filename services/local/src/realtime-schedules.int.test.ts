import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import fc from 'fast-check';
import { type RealtimeCluster, startRealtimeCluster } from '../test/realtime/cluster.js';
import { runSchedule } from '../test/realtime/run-schedule.js';
import { type Schedule, schedules } from '../test/realtime/schedule.js';
import { abortIfInterrupted, scheduleParameters } from '../test/realtime/soak.js';

const { parameters, faults, maxSteps, isSoak } = scheduleParameters();
/** Aborted if the run is interrupted, and at its end. */
const end = new AbortController();
abortIfInterrupted(end);

describeWith('valkey', 'three devices, two gateways and two orchestrators, with generated faults', () => {
  let cluster: RealtimeCluster;
  beforeAll(async () => {
    cluster = await startRealtimeCluster(Math.random);
  });
  afterAll(async () => {
    end.abort(new Error('the test has ended'));
    await cluster?.close();
  });

  it('I1–I5 I11: every device has what a fresh snapshot has after 20 s without any new event', async () => {
    let green = 0;
    const property = fc.asyncProperty(schedules(faults, maxSteps), async (schedule: Schedule) => {
      expect(await runSchedule(cluster, schedule, end.signal)).toEqual([]);
      green += 1;
    });
    await fc.assert(property, parameters).catch((error: unknown) => {
      if (!end.signal.aborted) throw error;
    });
    if (isSoak) console.info(`${green} schedules`);
    expect(green > 0 || end.signal.aborted).toBe(true);
  });
});
