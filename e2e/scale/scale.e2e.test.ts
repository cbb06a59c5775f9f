import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSettings } from '../support/settings.js';
import { measureScale, type ScaleReport } from '../support/scale/index.js';

const SWARMS = 300;
const MIB = 1_048_576;
/** The limits that the chart gives their pods. */
const LIMIT = { controller: 384 * MIB, webhook: 192 * MIB };

/** Durations are reported, not asserted. */
describe(`${SWARMS} UserSwarms on simulated nodes`, () => {
  const said: string[] = [];
  let report: ScaleReport;
  beforeAll(async () => {
    const { artifacts, auditLog, context, kubeconfig } = loadSettings();
    const say = (line: string): void => void said.push(line);
    const limitsLifted = false;
    report = await measureScale({
      artifacts,
      auditLog,
      context,
      kubeconfig,
      limitsLifted,
      say,
      swarms: SWARMS,
    });
  });
  // One call: jest prints the origin of each call.
  afterAll(() => console.log(said.join('\n')));

  it('are all Ready with one child of each kind and one pod', () => {
    const kinds = ['ready', 'serviceAccounts', 'services', 'deployments', 'replicaSets', 'pods'];
    expect(report.objects).toEqual(Object.fromEntries(kinds.map((kind) => [kind, SWARMS])));
  });

  it('need at most 6 writes, including Events, and 4 syncs each, without rejected writes', () => {
    const { events, writes } = report.perSwarm;
    // A few writes may conflict and are retried.
    expect(writes + events).toBeLessThanOrEqual(6 * 1.02);
    expect(report.perSwarm.syncs).toBeLessThanOrEqual(4);
    expect(report.refused ?? 0).toBe(0);
  });

  it('have the same number of writes in the audit log and in the metrics of the controller', () => {
    expect(report.writes.audited ?? report.writes.counted).toBe(report.writes.counted);
  });

  it('cause no writes at rest, even with a restarted controller and at resyncs', () => {
    const { audited, counted, periods, syncs } = report.rest;
    expect({ audited: audited ?? 0, counted }).toEqual({ audited: 0, counted: 0 });
    expect(syncs).toBeGreaterThanOrEqual(SWARMS * periods);
  });

  it('fit into the memory limits of controller and webhook in the chart', () => {
    const { controller, webhook } = report.processes;
    expect(controller.peak ?? 0).toBeLessThan(LIMIT.controller);
    expect(webhook.peak ?? 0).toBeLessThan(LIMIT.webhook);
  });
});
