import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '../../../../../packages/kube-client/test/eventually.js';
import { type ScriptedApi, startScriptedApi } from '../../../../../packages/kube-client/test/scripted-api.js';
import { createKubernetesDriver, type KubernetesDriver } from './kubernetes-driver.js';

const SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const spec = (workspaceId: string) => ({ workspaceId, userId: 'u', suspended: false });

describe('the kubernetes driver', () => {
  let server: ScriptedApi;
  let credentials: Credentials;
  let driver: KubernetesDriver;
  let hints: string[];
  let draining: boolean;

  beforeEach(async () => {
    server = await startScriptedApi();
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
    expect(server.get(SWARMS, 'workspace-a')).toBeDefined();
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
    server.remove(SWARMS, 'workspace-a');
    await eventually(() => hints.includes('a'));
    expect(await ensure('a')).toMatchObject({ reason: 'Draining' });
    draining = false;
    await ensure('a');
    expect(server.get(SWARMS, 'workspace-a')).toBeDefined();
  });

  it('tells that one is gone, and remembers nothing of it after that', async () => {
    await ensure('a');
    await ensure('marker');
    const again = server.get(SWARMS, 'workspace-a')!;
    server.remove(SWARMS, 'workspace-a');
    await eventually(() => hints.length === 1);
    server.put(SWARMS, { ...again, spec: { ...(again['spec'] as object), suspend: true } });
    server.remove(SWARMS, 'workspace-marker');
    await eventually(() => hints.includes('marker'));
    expect(hints).toEqual(['a', 'marker']);
  });
});
