import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { recordApplies, USER_SWARMS } from '../../../../../test/applied-user-swarms.js';
import { eventually } from '../../../../../../../packages/kube-client/test/eventually.js';
import { type ScriptedApi, startScriptedApi } from '../../../../../../../packages/kube-client/test/scripted-api.js';
import { createKubernetesDriver, type KubernetesDriver } from './kubernetes-driver.js';
import type { RuntimeSpec } from '../driver.js';

const OURS = { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' };
const spec = (workspaceId: string) => ({ workspaceId, userId: 'u', suspended: false });

describe('the kubernetes driver', () => {
  let server: ScriptedApi;
  let credentials: Credentials;
  let driver: KubernetesDriver;
  let hints: string[];
  let draining: boolean;

  beforeEach(async () => {
    server = await startScriptedApi();
    recordApplies(server);
    credentials = await createCredentials(server.config);
    hints = [];
    draining = false;
    driver = createKubernetesDriver({
      client: createKubeClient({ credentials, fieldManager: 'test' }),
      watch: createWatch(credentials),
      type: USERSWARMS,
      settings: { namespace: 'n', envSecret: undefined, defaultProvider: undefined, defaultModel: undefined },
      drain: { raised: async () => draining },
      logger: silentLogger,
    });
    driver.onChange((workspaceId) => hints.push(workspaceId));
    await eventually(() => server.watches() === 1);
  });
  afterEach(async () => {
    await driver.close();
    await credentials.close();
    await server.close();
  });

  const ensure = (workspaceId: string, signal?: AbortSignal) =>
    driver.ensure(spec(workspaceId), { unresponsive: false, ...(signal === undefined ? {} : { signal }) });

  it('makes none for who has lost the lease on it, and goes on with one that is there', async () => {
    const lost = AbortSignal.abort(new Error('the lease is lost'));
    await expect(ensure('a', lost)).rejects.toBe(lost.reason);
    expect(server.writes()).toEqual([]);
    await ensure('a');
    expect(await ensure('a', lost)).toMatchObject({ phase: 'Pending' });
    expect(server.get(USER_SWARMS, 'workspace-a')).toBeDefined();
  });

  it('makes, suspends and resumes none while the release is being removed, and still removes', async () => {
    await ensure('a');
    const made = server.writes().length;
    draining = true;
    expect(await ensure('b')).toMatchObject({ phase: 'Progressing', reason: 'Draining' });
    const asleep = { workspaceId: 'a', userId: 'u', suspended: true };
    expect(await driver.ensure(asleep, { unresponsive: false })).toMatchObject({ phase: 'Pending' });
    expect(server.writes()).toHaveLength(made);
    await driver.remove('a');
    expect(server.writes().map(({ method }) => method)).toEqual([...Array(made).fill('PATCH'), 'DELETE']);
    // One that the drain has deleted stays away until the flag is down.
    server.remove(USER_SWARMS, 'workspace-a');
    await eventually(() => hints.includes('a'));
    expect(await ensure('a')).toMatchObject({ reason: 'Draining' });
    draining = false;
    await ensure('a');
    expect(server.get(USER_SWARMS, 'workspace-a')).toBeDefined();
  });

  it('reports what others change and delete, also of a runtime that this process never looked at', async () => {
    const kind = { apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm' };
    server.put(USER_SWARMS, { ...kind, metadata: { name: 'workspace-a', labels: OURS }, spec: { userId: 'u' } });
    await eventually(() => hints.length === 1);
    server.remove(USER_SWARMS, 'workspace-a');
    await eventually(() => hints.length === 2);
    expect(hints).toEqual(['a', 'a']);
  });

  describe('what it sees without asking', () => {
    const peek = async (workspaceId: string, more: Partial<RuntimeSpec> = {}) =>
      (await driver.peek([{ ...spec(workspaceId), ...more }])).get(workspaceId);

    it('is what ensure returned, and tells whether ensure has something to do', async () => {
      await eventually(async () => (await driver.peek([]).catch(() => undefined)) !== undefined);
      expect(await peek('a')).toBeUndefined();
      const made = await ensure('a');
      const asked = server.requests.length;
      expect(await peek('a')).toEqual(made);
      expect(await peek('a', { suspended: true })).toEqual({ ...made, outdated: true });
      expect(server.requests.length).toBe(asked);
    });

    it('is what was reported last', async () => {
      await ensure('a');
      const swarm = server.get(USER_SWARMS, 'workspace-a')!;
      const phase = 'Ready';
      server.put(USER_SWARMS, { ...swarm, status: { phase, observedGeneration: swarm.metadata.generation } });
      await eventually(() => hints.includes('a'));
      expect(await peek('a')).toMatchObject({ phase, current: true });
    });
  });
});
