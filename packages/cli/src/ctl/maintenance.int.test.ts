import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ROLLOUT, USERSWARMS } from '@uswarm/contract/userswarm';
import {
  describeWithKubeApi,
  type KubeApiServer,
  kubePrograms,
  startKubeApiServer,
  TEST_NODE,
} from '@uswarm/testkit/kube-api';
import { brokenRuntimes, type BrokenRuntimes, type Container, PODS } from '../../test/broken-runtimes.js';
import { drain } from './drain/drain.js';
import { rolloutForce, rolloutStatus } from './rollout/rollout.js';

const CRD = path.resolve(import.meta.dirname, '../../../../crds/userswarms.uswarm.dev.yaml');
const START_MS = 180_000;
const RUNNING: Container = { ready: true, restartCount: 0, state: { running: {} } };

describeWithKubeApi('maintenance with uswarmctl, with a kube-apiserver', (image) => {
  let api: KubeApiServer;
  let runtimes: BrokenRuntimes;
  beforeAll(async () => {
    api = await startKubeApiServer(await kubePrograms(image));
    runtimes = await brokenRuntimes(api.kubeconfig, await readFile(CRD, 'utf8'));
  }, START_MS);
  afterAll(async () => {
    await runtimes?.close();
    await api?.close();
  });

  const cluster = () => ({ kubeconfig: api.kubeconfig, context: undefined });
  const drainOf = (options: { swarms?: string[]; node?: string; all?: boolean; undo?: boolean; waitS?: number }) =>
    drain(
      { name: 'drain', swarms: [], node: undefined, all: false, undo: false, waitS: 0, ...cluster(), ...options },
      {},
    );
  const swarm = async (name: string) =>
    (await runtimes.client.get(USERSWARMS, { name })) as unknown as {
      metadata: { annotations?: Record<string, string>; managedFields: { manager: string; operation: string }[] };
      spec: { suspend: boolean };
    };
  async function endPod(name: string): Promise<void> {
    const key = { name, namespace: 'userswarms' };
    const { uid = '' } = (await runtimes.client.get(PODS, key)).metadata;
    await runtimes.client.delete(PODS, key, { uid, propagation: 'Background', graceS: 0 });
  }

  it('drain holds a runtime with its own field manager until its pod has ended, and undo releases it', async () => {
    const { name, pod } = await runtimes.create({ container: RUNNING });
    const first = await drainOf({ swarms: [name] });
    expect(first).toMatchObject({ partial: true, json: { drained: [], running: [name] } });
    const held = await swarm(name);
    expect(held.spec.suspend).toBe(true);
    expect(held.metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'uswarmctl-drain', operation: 'Apply' }),
    );
    const waiting = drainOf({ swarms: [name], waitS: 60 });
    await endPod(pod);
    expect(await waiting).toMatchObject({ partial: false, json: { drained: [name], running: [] } });
    expect((await drainOf({ swarms: [name], undo: true })).text).toBe(`${name} released.`);
    const released = await swarm(name);
    expect(released.spec.suspend).toBe(false);
    expect(released.metadata.managedFields.map(({ manager }) => manager)).not.toContain('uswarmctl-drain');
  });

  it('drain --node holds only what runs there', async () => {
    const here = await runtimes.create({ container: RUNNING });
    const elsewhere = await runtimes.create({ unschedulable: 'no node' });
    const { json } = await drainOf({ node: TEST_NODE });
    expect(json).toMatchObject({ running: [here.name] });
    expect((await swarm(elsewhere.name)).spec.suspend).toBe(false);
    expect((await drainOf({ node: 'node-2' })).text).toBe('No runtime is to be drained.');
    await endPod(here.pod);
  });

  it('drain creates nothing for a workspace that is unknown', async () => {
    await expect(drainOf({ swarms: ['workspace-absent'] })).rejects.toThrow(/^UserSwarm workspace-absent not found\./);
    await expect(swarm('workspace-absent')).rejects.toMatchObject({ status: 404 });
  });

  it('rollout status lists the runtimes that wait, and force grants one of them its revision', async () => {
    const waiting = await runtimes.create({ container: RUNNING, pendingRevision: 'r2' });
    const current = await runtimes.create({ container: RUNNING });
    const { json, text } = await rolloutStatus({ name: 'rollout status', ...cluster() }, {});
    expect(json).toMatchObject({ waiting: [{ name: waiting.name, phase: 'Ready', pending_revision: 'r2' }] });
    expect(text).toMatch(
      /^\d+ of \d+ runtimes are up to date\.\n\nWAITING +PHASE +SINCE +MESSAGE\nworkspace-\d+ +Ready +\d+s/,
    );
    const forced = { name: 'rollout force', ...cluster() } as const;
    await rolloutForce({ ...forced, swarm: waiting.name }, {}, new Date('2026-11-30T01:02:03.456Z'));
    expect((await swarm(waiting.name)).metadata.annotations).toMatchObject({
      [ROLLOUT.forced]: 'true',
      [ROLLOUT.time]: '2026-11-30T01:02:03Z',
      [ROLLOUT.revision]: 'r2',
    });
    await expect(rolloutForce({ ...forced, swarm: current.name }, {})).rejects.toThrow(
      `${current.name} does not wait for a rollout.`,
    );
  });
});
