import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createCredentials,
  createKubeClient,
  createWatch,
  type Credentials,
  type KubernetesObject,
  startInformer,
} from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { type Caches, runtimeNamespaceOf, startCaches } from './caches.js';

const NAMESPACES = '/api/v1/namespaces';
const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const namespace = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const serviceOf = (place: string, uid: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 's',
    namespace: place,
    labels: { 'controller-uid': uid },
    ownerReferences: [{ apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm', name: 'w', uid, controller: true }],
  },
});

describe('the caches', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let caches: Caches;
  let touched: string[];

  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    touched = [];
  });
  afterEach(async () => {
    await caches.stop();
    await credentials.close();
    await api.close();
  });

  const start = (...runtimeNamespaces: string[]): void => {
    const client = createKubeClient({ credentials, fieldManager: 'test' });
    caches = startCaches({
      resource: USERSWARMS,
      runtimeNamespaces,
      start: (options) =>
        startInformer({
          ...options,
          client,
          watch: createWatch(credentials),
          logger: silentLogger,
          timing: { watchS: 60, silenceMs: 60_000, backoff: { initialMs: 5, maxMs: 20 }, staleMs: 40 },
        }),
      onParent: () => {},
      onChild: ({ before, after }) => touched.push(`child ${(after ?? before)?.metadata.name}`),
      onPod: () => {},
      onNamespace: (name) => touched.push(name),
    });
  };
  const state = (name: string): string | undefined => caches.scope(name)?.state();
  const becomes = (name: string, wanted: string): Promise<true> => eventually(() => state(name) === wanted);

  it('keeps no spec of a pod except its node', async () => {
    api.put(NAMESPACES, namespace('good'));
    const labels = { 'app.kubernetes.io/name': 'agent-runtime', 'app.kubernetes.io/instance': 'w' };
    const pod = (name: string, spec: object): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'good', labels },
      spec,
      status: { phase: 'Pending' },
    });
    api.put('/api/v1/namespaces/good/pods', pod('a', { nodeName: 'node-1', containers: [{ name: 'c' }] }));
    api.put('/api/v1/namespaces/good/pods', pod('b', { containers: [{ name: 'c' }] }));
    start('good');
    await becomes('good', 'ready');
    const pods = caches.scope('good')?.pods.list() ?? [];
    expect(pods.map(({ spec, status }) => ({ spec, status }))).toEqual([
      { spec: { nodeName: 'node-1' }, status: { phase: 'Pending' } },
      { spec: {}, status: { phase: 'Pending' } },
    ]);
  });

  it('syncs the other namespaces when one may not be read', async () => {
    for (const name of ['good', 'bad']) api.put(NAMESPACES, namespace(name));
    api.put('/api/v1/namespaces/good/services', serviceOf('good', 'u1'));
    api.script(({ path }, response) => {
      if (!path.startsWith('/api/v1/namespaces/bad/')) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    start('good', 'bad');
    await becomes('good', 'ready');
    await becomes('bad', 'denied');
    expect(caches.scope('good')?.children['Service.v1'].indexed('u1')).toHaveLength(1);
    expect(touched).toEqual(expect.arrayContaining(['good', 'bad']));
  });

  it('does not watch a namespace that does not exist', async () => {
    start('missing');
    await becomes('missing', 'absent');
    expect(api.requests.filter(({ path }) => path.includes('/missing/'))).toEqual([]);
    api.put(NAMESPACES, namespace('missing'));
    api.put('/api/v1/namespaces/missing/services', serviceOf('missing', 'u1'));
    await becomes('missing', 'ready');
    expect(caches.scope('missing')?.children['Service.v1'].list()).toHaveLength(1);
  });

  it('drops the contents of a deleted namespace, also without read permission', async () => {
    api.put(NAMESPACES, namespace('doomed'));
    api.put('/api/v1/namespaces/doomed/services', serviceOf('doomed', 'u1'));
    start('doomed');
    await becomes('doomed', 'ready');
    api.script(({ path }, response) => {
      if (!path.startsWith('/api/v1/namespaces/doomed/')) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    api.endWatches('disconnect');
    await becomes('doomed', 'denied');
    touched.length = 0;
    api.remove(NAMESPACES, 'doomed');
    await becomes('doomed', 'absent');
    expect(caches.scope('doomed')?.children['Service.v1'].list()).toEqual([]);
    expect(touched).toEqual(expect.arrayContaining(['doomed', 'child s']));
  });

  it('does not treat a namespace as absent when Namespaces cannot be listed at first', async () => {
    for (const name of ['good', 'spare']) api.put(NAMESPACES, namespace(name));
    const heal = api.script(({ path }, response) => {
      if (path !== NAMESPACES) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    start('good', 'spare');
    const refused = (): number => api.requests.filter(({ path }) => path === NAMESPACES).length;
    await eventually(() => refused() > 8);
    expect({ good: state('good'), spare: state('spare'), synced: caches.synced() }).toEqual({
      good: 'loading',
      spare: 'loading',
      synced: false,
    });
    heal();
    await becomes('good', 'ready');
    await becomes('spare', 'ready');
    await eventually(() => caches.synced());
  });

  it('is not synced while Namespaces or UserSwarms are unknown', async () => {
    let silent = true;
    api.script(({ path }) => (silent && path === USER_SWARMS ? true : undefined));
    start('good');
    await becomes('good', 'absent');
    expect(caches.synced()).toBe(false);
    silent = false;
    await caches.stop();
    start('good');
    await eventually(() => caches.synced());
  });

  it.each([
    ['UserSwarms', USER_SWARMS],
    ['Namespaces', NAMESPACES],
    ['Pods of a runtime namespace', '/api/v1/namespaces/good/pods'],
    ['Deployments of a runtime namespace', '/apis/apps/v1/namespaces/good/deployments'],
  ])('is not synced while the watch of %s is refused, and synced again afterwards', async (_what, refused) => {
    api.put(NAMESPACES, namespace('good'));
    start('good', 'missing');
    await eventually(() => caches.synced());
    const heal = api.script(({ path, query }, response) => {
      if (path !== refused || !query.has('watch')) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    api.endWatches('end');
    await eventually(() => !caches.synced());
    heal();
    await eventually(() => caches.synced());
    expect(caches.scope('good')?.alive()).toBe(true);
  });

  it('reads the runtime namespace and defaults it', () => {
    const userSwarm = (spec: object): KubernetesObject => ({
      apiVersion: 'a',
      kind: 'b',
      metadata: { name: 'w' },
      spec,
    });
    expect(runtimeNamespaceOf(userSwarm({ placement: { runtimeNamespace: 'x' } }))).toBe('x');
    expect(runtimeNamespaceOf(userSwarm({}))).toBe('userswarms');
  });
});
