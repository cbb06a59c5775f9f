import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type RealtimeCluster, startRealtimeCluster } from '../test/realtime/cluster.js';
import { NAMED_SCHEDULES } from '../test/realtime/named-schedules.js';
import { runSchedule } from '../test/realtime/run-schedule.js';

describeWith('valkey', 'a device that knows only the specification, whose gateway is cut off from the bus', () => {
  let cluster: RealtimeCluster;
  beforeAll(async () => {
    cluster = await startRealtimeCluster(Math.random);
  });
  afterAll(() => cluster?.close());

  it('has every message within 20 s, without another connection', async () => {
    const schedule = NAMED_SCHEDULES['a gateway is cut off from the bus while a question is asked and answered'];
    expect(schedule && (await runSchedule(cluster, schedule))).toEqual([]);
  });
});
