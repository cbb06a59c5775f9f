import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { recordApplies, USER_SWARMS } from '../../../../../test/applied-user-swarms.js';
import { createKubernetesDriver, type KubernetesDriver } from './kubernetes-driver.js';
import type { RuntimeSpec } from '../driver.js';

const LABELS = { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' };
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
      drain: { raised: async () => draining },
      logger: silentLogger,
    });
    driver.onChange((workspaceId) => changes.push(workspaceId));
    await eventually(() => server.watches() === 1);
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
