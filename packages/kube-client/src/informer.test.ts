import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createKubeClient } from './client.js';
import { createCredentials, type Credentials } from './credentials.js';
import {
  type Informer,
  type InformerFault,
  type InformerState,
  type InformerTiming,
  startInformer,
} from './informer.js';
import type { KubernetesObject } from '@uswarm/kube-types';
import { createStore, type Store } from './store.js';
import { createWatch } from './watch.js';

const SERVICES = '/api/v1/namespaces/ns/services';
const FAST: InformerTiming = { watchS: 60, silenceMs: 60_000, backoff: { initialMs: 5, maxMs: 20 } };

const service = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'ns', labels: { 'controller-uid': 'x' } },
});

describe('startInformer', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let store: Store;
  let faults: InformerFault[];
  let states: InformerState[];
  let informer: Informer;

  const start = (timing: Partial<InformerTiming> = {}, timeoutMs = 30_000): void => {
    informer = startInformer({
      client: createKubeClient({ credentials, fieldManager: 'test', timeoutMs }),
      watch: createWatch(credentials),
      resource: { group: '', version: 'v1', plural: 'services', kind: 'Service' },
      namespace: 'ns',
      labelSelector: 'controller-uid',
      store,
      timing: { ...FAST, ...timing },
      logger: silentLogger,
      onFault: (fault) => faults.push(fault),
      onState: () => states.push(informer.state()),
    });
  };
  const names = (): string[] =>
    store
      .list()
      .map(({ metadata }) => metadata.name)
      .toSorted();
  const sees = (...expected: string[]): Promise<true> =>
    eventually(() => JSON.stringify(names()) === JSON.stringify(expected));
  const lists = (): number =>
    api.requests.filter(({ method, path, query }) => method === 'GET' && path === SERVICES && !query.has('watch'))
      .length;
  /** Waits until the list is complete and a watch is running. */
  const watching = (): Promise<true> => eventually(() => informer.state() === 'ready' && api.watches() === 1);

  const refuseWatches = (times: number): (() => void) =>
    api.script(({ query }, response) => {
      if (!query.has('watch') || times === 0) return undefined;
      times -= 1;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });

  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    store = createStore();
    faults = [];
    states = [];
  });
  afterEach(async () => {
    await informer.stop();
    await credentials.close();
    await api.close();
  });

  it('lists and then follows the watch', async () => {
    api.put(SERVICES, service('a'));
    start();
    await sees('a');
    await watching();
    api.put(SERVICES, service('b'));
    await sees('a', 'b');
    api.remove(SERVICES, 'a');
    await sees('b');
    expect(store.list()[0]).toMatchObject({ apiVersion: 'v1', kind: 'Service' });
    expect({ lists: lists(), faults }).toEqual({ lists: 1, faults: [] });
  });

  it('lists in pages', async () => {
    const page = (name: string, next?: string): string =>
      JSON.stringify({
        kind: 'ServiceList',
        metadata: { resourceVersion: '7', continue: next },
        items: [service(name)],
      });
    api.script(({ path, query }, response) => {
      if (path !== SERVICES || query.has('watch')) return undefined;
      expect(query.get('limit')).toBe('500');
      response.end(query.get('continue') === 'more' ? page('b') : page('a', 'more'));
      return true;
    });
    start();
    await sees('a', 'b');
  });

  it.each(['end', 'disconnect'] as const)('resumes from the last version when its watch ends (%s)', async (how) => {
    start();
    await watching();
    api.put(SERVICES, service('a'));
    await sees('a');
    api.endWatches(how);
    api.put(SERVICES, service('b'));
    await sees('a', 'b');
    expect(lists()).toBe(1);
  });

  it('resumes from a bookmark', async () => {
    start();
    await watching();
    const object = { kind: 'Service', apiVersion: 'v1', metadata: { resourceVersion: '5000' } };
    api.sendToWatches(SERVICES, JSON.stringify({ type: 'BOOKMARK', object }));
    api.endWatches('end');
    const watched = (): string[] =>
      api.requests.filter(({ query }) => query.has('watch')).map(({ query }) => query.get('resourceVersion') ?? '');
    await eventually(() => watched().length > 1);
    expect({ watchedFrom: watched().at(-1), names: names(), lists: lists() }).toEqual({
      watchedFrom: '5000',
      names: [],
      lists: 1,
    });
  });

  it('lists again when the last version has expired (410 in the stream)', async () => {
    api.put(SERVICES, service('a'));
    start();
    await watching();
    api.endWatches('disconnect');
    api.remove(SERVICES, 'a');
    api.put(SERVICES, service('b'));
    api.compact();
    await sees('b');
    expect(faults).toContain('gone');
  });

  it('lists again when the watch request returns 410', async () => {
    start();
    await watching();
    const restoreServer = api.script(({ query }, response) => {
      if (!query.has('watch')) return undefined;
      response.writeHead(410).end('{"code":410,"reason":"Gone"}');
      return true;
    });
    api.endWatches('end');
    await eventually(() => faults.includes('gone'));
    restoreServer();
    api.put(SERVICES, service('a'));
    await sees('a');
    expect(lists()).toBeGreaterThan(1);
  });

  it.each(['<html>', '{"type":"ADDED"}', '{"type":"WHAT","object":{"metadata":{"resourceVersion":"9"}}}'])(
    'lists again when the stream contains a line that is not an event: %s',
    async (text) => {
      start();
      await watching();
      // The event on the broken line is lost.
      api.sendToWatches(SERVICES, text);
      await eventually(() => lists() > 1);
      api.put(SERVICES, service('a'));
      await sees('a');
      expect(faults).toEqual(['garbage']);
    },
  );

  it('replaces a connection without data', async () => {
    let unanswered = 0;
    const restoreServer = api.script(({ query }, response) => {
      if (!query.has('watch') || unanswered > 0) return undefined;
      unanswered += 1;
      response.writeHead(200).flushHeaders();
      return true;
    });
    start({ silenceMs: 100 });
    await eventually(() => faults.includes('silence'));
    restoreServer();
    api.put(SERVICES, service('a'));
    await sees('a');
    expect(lists()).toBe(1);
  });

  it('times out a list', async () => {
    let unanswered = 0;
    api.script(({ query }) => {
      if (query.has('watch') || unanswered > 0) return undefined;
      unanswered += 1;
      return true;
    });
    api.put(SERVICES, service('a'));
    start({}, 2_000);
    await sees('a');
    expect(faults).toEqual(['connection']);
  });

  it('resumes its watch after a restart of the API server, without a new list', async () => {
    start();
    await watching();
    await api.restart(500);
    // At least three consecutive failures.
    expect(faults.filter((fault) => fault === 'connection').length).toBeGreaterThan(2);
    api.put(SERVICES, service('a'));
    await sees('a');
    expect({ lists: lists(), listed: informer.listed() }).toEqual({ lists: 1, listed: true });
  });

  it('resumes its watch after the server has rejected it many times, without a new list', async () => {
    start();
    await watching();
    const restoreServer = api.script(({ query }, response) => {
      if (!query.has('watch')) return undefined;
      response.writeHead(500).end('{"code":500,"reason":"InternalError"}');
      return true;
    });
    api.endWatches('end');
    await eventually(() => faults.length > 6);
    restoreServer();
    api.put(SERVICES, service('a'));
    await sees('a');
    expect(lists()).toBe(1);
  });

  it('lists again after a long time without a watch', async () => {
    start({ relistMs: 20 });
    await watching();
    const before = lists();
    const restoreServer = refuseWatches(Infinity);
    api.endWatches('end');
    await eventually(() => lists() > before);
    restoreServer();
    api.put(SERVICES, service('a'));
    await sees('a');
    expect(lists()).toBeGreaterThan(before);
  });

  it('lists again when the server was restored to an earlier version during an outage', async () => {
    for (const name of ['a', 'b']) api.put(SERVICES, service(name));
    start({ checkMs: 0 });
    await sees('a', 'b');
    await watching();
    const old = { kind: 'ServiceList', metadata: { resourceVersion: '5' }, items: [service('a')] };
    api.script(({ path, query }, response) => {
      if (path !== SERVICES) return undefined;
      // A watch from a future version stays open without data.
      if (query.has('watch')) response.writeHead(200).flushHeaders();
      else response.end(JSON.stringify(old));
      return true;
    });
    api.endWatches('disconnect');
    await sees('a');
    expect(faults).toEqual(['connection']);
  });

  it('reports denied while the server denies access, and recovers afterwards', async () => {
    const restoreServer = api.script(({ path }, response) => {
      if (path !== SERVICES) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });
    start();
    await eventually(() => informer.state() === 'denied');
    expect(informer.listed()).toBe(false);
    restoreServer();
    api.put(SERVICES, service('a'));
    await sees('a');
    await eventually(() => informer.state() === 'ready');
    expect(informer.listed()).toBe(true);
  });

  it('reports loading instead of denied after a single refusal', async () => {
    start();
    await watching();
    refuseWatches(1);
    api.endWatches('end');
    await eventually(() => states.length === 3);
    expect({ states, faults }).toEqual({ states: ['ready', 'loading', 'ready'], faults: ['denied'] });
  });

  it('stays denied with permission to list but not to watch', async () => {
    start();
    await watching();
    const restoreServer = refuseWatches(Infinity);
    api.endWatches('end');
    await eventually(() => faults.length > 8);
    expect(states).toEqual(['ready', 'loading', 'denied']);
    restoreServer();
    await eventually(() => informer.state() === 'ready');
  });

  it('lists again when the server rejects the version of the watch', async () => {
    start();
    await watching();
    const restoreServer = api.script(({ query }, response) => {
      if (!query.has('watch')) return undefined;
      response.writeHead(504).end('{"code":504,"reason":"Timeout","message":"Too large resource version"}');
      return true;
    });
    api.endWatches('end');
    await eventually(() => lists() > 1);
    restoreServer();
    api.put(SERVICES, service('a'));
    await sees('a');
    expect(faults).toContain('refused');
  });

  it('drops its contents when the history of the server is reset', async () => {
    for (const name of ['a', 'b', 'c']) api.put(SERVICES, service(name));
    start();
    await sees('a', 'b', 'c');
    const old = { kind: 'ServiceList', metadata: { resourceVersion: '5' }, items: [] };
    api.script(({ path, query }, response) => {
      if (path !== SERVICES || query.has('watch')) return undefined;
      response.end(JSON.stringify(old));
      return true;
    });
    api.compact();
    api.endWatches('end');
    await sees();
    expect(faults).toContain('gone');
  });

  it('does not restart after it was stopped in any state', async () => {
    for (const pause of [0, 1, 5, 20, 50]) {
      start();
      await new Promise((resolve) => setTimeout(resolve, pause));
      await informer.stop();
      // Responses in flight arrive.
      await new Promise((resolve) => setTimeout(resolve, 30));
      await eventually(() => api.watches() === 0);
      const requested = api.requests.length;
      api.put(SERVICES, service(`after-${pause}`));
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(api.requests.length).toBe(requested);
    }
  });
});
