import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSettings } from '../src/settings.js';
import { measureScale, type ScaleReport } from '../src/scale/index.js';

const SWARMS = 300;
const MIB = 1_048_576;
/** The limits that the chart gives their pods. */
const LIMIT = { controller: 384 * MIB, webhook: 192 * MIB };

/** How long it took is written down, and not judged here. */
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
  // In one call: jest prints the origin of each.
  afterAll(() => console.log(said.join('\n')));

  it('are all Ready, with one of each child and one pod', () => {
    const kinds = ['ready', 'serviceAccounts', 'services', 'deployments', 'replicaSets', 'pods'];
    expect(report.objects).toEqual(Object.fromEntries(kinds.map((kind) => [kind, SWARMS])));
  });

  it('cost at most 7 writes each, Events among them, of which none is refused, and 4 syncs', () => {
    const { events, writes } = report.perSwarm;
    // A few may meet an object that changed just then, and are written again.
    expect(writes + events).toBeLessThanOrEqual(7 * 1.02);
    expect(report.perSwarm.syncs).toBeLessThanOrEqual(4);
    expect(report.refused ?? 0).toBe(0);
  });

  it('cost as many writes in the audit log of the API server as the controller reports', () => {
    expect(report.writes.audited ?? report.writes.counted).toBe(report.writes.counted);
  });

  it('cause no write at rest, not even by a restarted controller, while each is synced at each resync', () => {
    const { audited, counted, periods, syncs } = report.rest;
    expect({ audited: audited ?? 0, counted }).toEqual({ audited: 0, counted: 0 });
    expect(syncs).toBeGreaterThanOrEqual(SWARMS * periods);
  });

  it('fit into the memory that the chart gives the controller and the webhook', () => {
    const { controller, webhook } = report.processes;
    expect(controller.peak ?? 0).toBeLessThan(LIMIT.controller);
    expect(webhook.peak ?? 0).toBeLessThan(LIMIT.webhook);
  });
});
