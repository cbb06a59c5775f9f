import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type RealtimeCluster, startRealtimeCluster } from '../test/realtime/cluster.js';
import { RARE_SCHEDULES } from '../test/realtime/named-schedules.js';
import { runSchedule } from '../test/realtime/run-schedule.js';

describeWith('valkey', 'three devices, two gateways and two orchestrators', () => {
  let cluster: RealtimeCluster;
  beforeAll(async () => {
    cluster = await startRealtimeCluster(Math.random);
  });
  afterAll(() => cluster?.close());

  it('I5: have what a fresh snapshot has after a standby was promoted that lacks the last second', async () => {
    expect(await runSchedule(cluster, RARE_SCHEDULES.promotedStandby)).toEqual([]);
    expect(cluster.postgres.lost()).toHaveLength(1);
  });

  it('I7: have what a fresh snapshot has while one gateway is of the previous release', async () => {
    expect(await runSchedule(cluster, RARE_SCHEDULES.previousGateway)).toEqual([]);
  });
});
