import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createKubeClient } from './client.js';
import { createCredentials, type Credentials } from './credentials.js';
import { type Informer, type InformerFault, type InformerTiming, startInformer } from './informer.js';
import { createStore } from './store.js';
import { createWatch } from './watch.js';

const FAST: InformerTiming = { watchS: 60, silenceMs: 60_000, backoff: { initialMs: 5, maxMs: 20 } };

describe('startInformer', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let faults: InformerFault[];
  let informer: Informer;

  const start = (timing: Partial<InformerTiming> = {}): void => {
    informer = startInformer({
      client: createKubeClient({ credentials, fieldManager: 'test' }),
      watch: createWatch(credentials),
      resource: { group: '', version: 'v1', plural: 'services', kind: 'Service' },
      namespace: 'ns',
      store: createStore(),
      timing: { ...FAST, ...timing },
      logger: silentLogger,
      onFault: (fault) => faults.push(fault),
    });
  };
  const watching = (): Promise<true> => eventually(() => informer.state() === 'ready' && api.watches() === 1);
  const refuseWatches = (): (() => void) =>
    api.script(({ query }, response) => {
      if (!query.has('watch')) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden"}');
      return true;
    });

  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    faults = [];
  });
  afterEach(async () => {
    await informer.stop();
    await credentials.close();
    await api.close();
  });

  it('is alive while a watch runs, but not after the server has rejected watches for a while', async () => {
    start({ staleMs: 40 });
    expect(informer.alive()).toBe(false);
    await eventually(() => informer.alive());
    const restoreServer = refuseWatches();
    api.endWatches('end');
    await eventually(() => !informer.alive());
    expect(informer.listed()).toBe(true);
    restoreServer();
    await eventually(() => informer.alive());
  });

  it('is alive immediately after a long watch without events has lost its connection', async () => {
    const staleMs = 2_000;
    start({ staleMs });
    await watching();
    const opened = performance.now();
    await eventually(() => performance.now() - opened > staleMs);
    const restoreServer = refuseWatches();
    api.endWatches('disconnect');
    await eventually(() => faults.includes('connection'));
    expect(informer.alive()).toBe(true);
    restoreServer();
  });

  it('is not alive while its watch is open but receives no data for too long', async () => {
    let unanswered = false;
    const restoreServer = api.script(({ query }, response) => {
      if (!unanswered || !query.has('watch')) return undefined;
      response.writeHead(200).flushHeaders();
      return true;
    });
    start({ silenceMs: 60, staleMs: 30 });
    await eventually(() => informer.alive());
    unanswered = true;
    await eventually(() => faults.includes('silence') && !informer.alive());
    restoreServer();
    await eventually(() => informer.alive());
    expect(informer.state()).toBe('ready');
  });
});
