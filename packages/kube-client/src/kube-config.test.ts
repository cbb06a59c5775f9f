import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '@uswarm/service-kit';
import { createCredentials } from './credentials.js';
import { loadKubeConfig, loadOperatorKubeConfig } from './kube-config.js';

const file = (name: string, context = name): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `https://${name}:6443/` } }],
    users: [{ name, user: { token: `token of ${name}`, as: 'another-user' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': context,
  });

describe('loadKubeConfig', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-kubeconfig-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };

  it('uses KUBECONFIG with its user, also in a pod', async () => {
    const KUBECONFIG = await write('one', file('one'));
    const credentials = await createCredentials(loadKubeConfig({ KUBECONFIG, KUBERNETES_SERVICE_HOST: '10.0.0.1' }));
    expect(credentials.server).toBe('https://one:6443');
    expect(await credentials.headers()).toEqual({
      authorization: 'Bearer token of one',
      'impersonate-user': 'another-user',
    });
    await credentials.close();
  });

  it('uses the current context of the first of several files', async () => {
    const files = [await write('one', file('one')), await write('two', file('two'))];
    const config = loadKubeConfig({ KUBECONFIG: files.join(delimiter) });
    expect(config.getCurrentCluster()?.name).toBe('one');
    expect(config.getClusters().map(({ name }) => name)).toEqual(['one', 'two']);
  });

  it('uses the in-cluster configuration in a pod', () => {
    const config = loadKubeConfig({ KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '10.0.0.1' });
    expect(config.getCurrentCluster()?.caFile).toContain('/var/run/secrets/kubernetes.io/serviceaccount');
  });

  it('fails outside a pod without KUBECONFIG', () => {
    expect(() => loadKubeConfig({})).toThrow(ConfigError);
  });

  it('finds the kubeconfig of an operator as kubectl does', async () => {
    const home = folder;
    expect(() => loadOperatorKubeConfig({}, { home })).toThrow(/KUBECONFIG is not set and .*config does not exist$/);
    await mkdir(join(folder, '.kube'));
    await write('.kube/config', file('own'));
    expect(loadOperatorKubeConfig({ KUBECONFIG: '' }, { home }).getCurrentCluster()?.name).toBe('own');
    const KUBECONFIG = [await write('one', file('one')), await write('two', file('two'))].join(delimiter);
    expect(loadOperatorKubeConfig({ KUBECONFIG }, { home }).getCurrentCluster()?.name).toBe('one');
    const named = loadOperatorKubeConfig({ KUBECONFIG }, { home, context: 'two' });
    expect(named.getCurrentCluster()?.name).toBe('two');
    expect(() => loadOperatorKubeConfig({ KUBECONFIG }, { home, context: 'three' })).toThrow(
      /context "three" does not exist/,
    );
  });

  it('reports an unreadable kubeconfig as a ConfigError', async () => {
    expect(() => loadKubeConfig({ KUBECONFIG: join(folder, 'missing') })).toThrow(ConfigError);
    const KUBECONFIG = await write('nowhere', file('nowhere', 'another'));
    await expect(createCredentials(loadKubeConfig({ KUBECONFIG }))).rejects.toThrow(ConfigError);
  });
});
