import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { recordApplies, USER_SWARMS } from '../../../../test/applied-user-swarms.js';
import { createKubernetesDriver, type KubernetesDriver } from './kubernetes-driver.js';
import type { RuntimeSpec } from '../driver.js';

const LABELS = { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' };
const ENDPOINTS = '/apis/discovery.k8s.io/v1/namespaces/n/endpointslices';
const SLICE_LABELS = {
  'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  'app.kubernetes.io/managed-by': 'uswarm-controller',
  'app.kubernetes.io/instance': 'workspace-a',
};
const spec = (workspaceId: string) => ({ workspaceId, userId: 'u', suspended: false });

describe('the kubernetes driver', () => {
  let server: ScriptedApi;
  let credentials: Credentials;
  let driver: KubernetesDriver;
  let changes: string[];
  let draining: boolean;

  beforeEach(async () => {
    server = await startScriptedApi();
    recordApplies(server);
    credentials = await createCredentials(server.config);
    changes = [];
    draining = false;
    driver = createKubernetesDriver({
      client: createKubeClient({ credentials, fieldManager: 'test' }),
      watch: createWatch(credentials),
      type: USERSWARMS,
      settings: { namespace: 'n', envSecret: undefined, defaultProvider: undefined, defaultModel: undefined },
      reportsStarting: true,
      drain: { raised: async () => draining },
      logger: silentLogger,
    });
    driver.onChange((workspaceId) => changes.push(workspaceId));
    await eventually(() => server.watches() === 2);
  });
  afterEach(async () => {
    await driver.close();
    await credentials.close();
    await server.close();
  });

  const ensure = (workspaceId: string, signal?: AbortSignal) =>
    driver.ensure(spec(workspaceId), { unresponsive: false, ...(signal === undefined ? {} : { signal }) });

  it('creates no UserSwarm after the lease is lost, and still returns the state of an existing one', async () => {
    const lost = AbortSignal.abort(new Error('the lease is lost'));
    await expect(ensure('a', lost)).rejects.toBe(lost.reason);
    expect(server.writes()).toEqual([]);
    await ensure('a');
    expect(await ensure('a', lost)).toMatchObject({ phase: 'Pending' });
    expect(server.get(USER_SWARMS, 'workspace-a')).toBeDefined();
  });

  it('creates and changes no UserSwarm while the release is being removed, and still deletes', async () => {
    await ensure('a');
    const writes = server.writes().length;
    draining = true;
    expect(await ensure('b')).toMatchObject({ phase: 'Progressing', reason: 'Draining' });
    const suspended = { workspaceId: 'a', userId: 'u', suspended: true };
    expect(await driver.ensure(suspended, { unresponsive: false })).toMatchObject({ phase: 'Pending' });
    expect(server.writes()).toHaveLength(writes);
    await driver.remove('a');
    expect(server.writes().map(({ method }) => method)).toEqual([...Array(writes).fill('PATCH'), 'DELETE']);
    // A UserSwarm that the drain deleted is not created again before the flag is lowered.
    server.remove(USER_SWARMS, 'workspace-a');
    await eventually(() => changes.includes('a'));
    expect(await ensure('a')).toMatchObject({ reason: 'Draining' });
    draining = false;
    await ensure('a');
    expect(server.get(USER_SWARMS, 'workspace-a')).toBeDefined();
  });

  it('reports changes and deletions by other clients, also of a runtime that it never handled', async () => {
    const kind = { apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm' };
    server.put(USER_SWARMS, { ...kind, metadata: { name: 'workspace-a', labels: LABELS }, spec: { userId: 'u' } });
    await eventually(() => changes.length === 1);
    server.remove(USER_SWARMS, 'workspace-a');
    await eventually(() => changes.length === 2);
    expect(changes).toEqual(['a', 'a']);
  });

  describe('of a runtime whose pod has an address', () => {
    const putSlice = (endpoints: object[]) =>
      server.put(ENDPOINTS, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'agent-runtime-workspace-a-x', namespace: 'n', labels: SLICE_LABELS },
        endpoints,
        ports: [{ port: 42618 }],
      });
    const putStatus = (phase: string, reason: string, generation = 0) => {
      const swarm = server.get(USER_SWARMS, 'workspace-a')!;
      const conditions = [{ type: 'Ready', status: 'False', reason }];
      const observedGeneration = Number(swarm.metadata.generation) - generation;
      server.put(USER_SWARMS, { ...swarm, status: { phase, conditions, observedGeneration } });
    };
    const startingAddress = async () =>
      (await driver.peek([spec('a')]).catch(() => undefined))?.get('a')?.startingAddress;
    const POD = { addresses: ['10.0.0.1'], conditions: { ready: false } };

    beforeEach(async () => {
      await ensure('a');
      putStatus('Progressing', 'Starting');
      await eventually(() => changes.length > 0);
      changes.length = 0;
    });

    it('reports the address and the change while the runtime starts', async () => {
      putSlice([POD]);
      await eventually(() => changes.length > 0);
      expect(await startingAddress()).toBe('http://10.0.0.1:42618');
      expect(await ensure('a')).toMatchObject({ phase: 'Progressing', startingAddress: 'http://10.0.0.1:42618' });
    });

    it('reports no change for another change of the slice', async () => {
      putSlice([POD]);
      await eventually(() => changes.length === 1);
      putSlice([{ ...POD, conditions: { ready: true } }]);
      putSlice([]);
      await eventually(async () => (await startingAddress()) === undefined);
      expect(changes).toEqual(['a']);
    });

    it.each([
      ['after the runtime is queued again', 'Progressing', 'Queued', 0],
      ['after the runtime is ready', 'Ready', 'Available', 0],
      ['until the controller has acted on the latest specification', 'Progressing', 'Starting', 1],
    ])('does not report it %s', async (_what, phase, reason, generation) => {
      putSlice([POD]);
      await eventually(startingAddress);
      putStatus(phase, reason, generation);
      const gone = (address: string | undefined): boolean => address === undefined;
      expect(await eventually(startingAddress, { until: gone })).toBeUndefined();
    });
  });

  describe('peek', () => {
    const peek = async (workspaceId: string, more: Partial<RuntimeSpec> = {}) =>
      (await driver.peek([{ ...spec(workspaceId), ...more }])).get(workspaceId);

    it('returns the result of ensure without a request, and whether ensure would change something', async () => {
      await eventually(async () => (await driver.peek([]).catch(() => undefined)) !== undefined);
      expect(await peek('a')).toBeUndefined();
      const made = await ensure('a');
      const requests = server.requests.length;
      expect(await peek('a')).toEqual(made);
      expect(await peek('a', { suspended: true })).toEqual({ ...made, outdated: true });
      expect(server.requests.length).toBe(requests);
    });

    it('returns the state that was reported last', async () => {
      await ensure('a');
      const swarm = server.get(USER_SWARMS, 'workspace-a')!;
      const phase = 'Ready';
      server.put(USER_SWARMS, { ...swarm, status: { phase, observedGeneration: swarm.metadata.generation } });
      await eventually(() => changes.includes('a'));
      expect(await peek('a')).toMatchObject({ phase, current: true });
    });
  });
});
