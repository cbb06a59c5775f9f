import { beforeEach, describe, expect, it } from '@jest/globals';
import { type SyncResponse, USERSWARMS } from '@uswarm/contract/userswarm';
import { createStore, type KubernetesObject, type Store } from '@uswarm/kube-client';
import { type NamespaceScope, ownerUid } from '../caches/namespace-scope.js';
import { HookBusy, HookError } from '../hook/hook-error.js';
import { FINALIZER } from './finalizer.js';
import { describeController } from './request.js';
import { emptyMemory, type SyncDeps, type SyncResult, syncUserSwarm } from './sync.js';

const never = new AbortController().signal;
const userSwarm = (status: object, version = '5'): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-a', uid: 'u1', generation: 1, resourceVersion: version, finalizers: [FINALIZER] },
  spec: { userId: 'x', placement: { runtimeNamespace: 'ns' } },
  status,
});
const childOf = (kind: string): Store => {
  const store = createStore({ indexBy: ownerUid });
  store.put({
    apiVersion: 'v1',
    kind,
    metadata: {
      name: 'agent-runtime-workspace-a',
      namespace: 'ns',
      uid: kind,
      resourceVersion: '3',
      ownerReferences: [{ apiVersion: 'a', kind: 'UserSwarm', name: 'workspace-a', uid: 'u1', controller: true }],
    },
    spec: { replicas: 1 },
  });
  return store;
};
const unavailable = (outageMs: number) => () => {
  throw Object.assign(new HookError('unreachable', 'connection refused'), { outageMs });
};

describe('a reconcile without a response of the webhook', () => {
  let parents: Store;
  let written: Record<string, unknown>[];
  let answer: () => SyncResponse;
  let memory: ReturnType<typeof emptyMemory>;
  let elapsed: number;

  beforeEach(() => {
    parents = createStore();
    written = [];
    memory = emptyMemory();
    elapsed = 0;
  });

  const refuse = async (): Promise<never> => {
    throw new Error('unexpected write');
  };
  const sync = (): Promise<SyncResult> => {
    const scope: NamespaceScope = {
      name: 'ns',
      children: {
        'ServiceAccount.v1': childOf('ServiceAccount'),
        'Service.v1': childOf('Service'),
        'Deployment.apps/v1': childOf('Deployment'),
      },
      pods: createStore(),
      warnings: { of: () => [] },
      state: () => 'ready',
      alive: () => true,
      setPresence: () => {},
      stop: async () => {},
    };
    const deps: SyncDeps = {
      client: {
        delete: refuse,
        get: refuse,
        mergePatch: refuse,
        replace: async (_resource, object) => {
          written.push(object['status'] as Record<string, unknown>);
          const version = `${Number(object.metadata.resourceVersion) + 1}`;
          return { ...userSwarm({}), ...object, metadata: { ...object.metadata, resourceVersion: version } };
        },
      },
      writer: { create: refuse, update: refuse, remove: refuse },
      starts: { admit: () => true, forget: () => {} },
      hook: { call: async () => answer() },
      caches: { parents, namespaces: createStore(), scope: () => scope },
      resource: USERSWARMS,
      controller: describeController(USERSWARMS, 30),
      clock: { now: () => new Date('2030-01-01T00:00:00Z') },
      elapsed: () => elapsed,
      onChild: () => {},
      onStatus: () => {},
    };
    return syncUserSwarm(deps, 'workspace-a', { memory, failures: 9, signal: never });
  };

  it('writes nothing during a short outage, and requeues for when it becomes long', async () => {
    parents.put(userSwarm({}));
    answer = unavailable(4_000);
    expect(await sync()).toMatchObject({ outcome: 'failed', reason: 'WebhookUnavailable', resyncAfterS: 6 });
    expect(written).toEqual([]);
  });

  it('reports the outage once on a UserSwarm that needs the webhook', async () => {
    parents.put(userSwarm({}));
    answer = unavailable(10_000);
    expect(await sync()).toMatchObject({ outcome: 'failed', reason: 'WebhookUnavailable' });
    elapsed = 60_000;
    await sync();
    const reason = 'WebhookUnavailable';
    expect(written).toMatchObject([{ phase: 'Progressing', conditions: [{ reason }, { type: 'Synced', reason }] }]);
  });

  it.each(['Suspended', 'Error'])(
    'writes nothing to one that is %s and unchanged, however long it lasts',
    async (phase) => {
      parents.put(userSwarm({ phase, observedGeneration: 1, conditions: [] }));
      answer = unavailable(600_000);
      expect(await sync()).toMatchObject({ outcome: 'failed', reason: 'WebhookUnavailable' });
      expect(written).toEqual([]);
    },
  );

  it('refuses a response that would delete a running runtime, and reports it although the runtime is Ready', async () => {
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Available', message: 'It runs.' }];
    parents.put(userSwarm({ phase: 'Ready', observedGeneration: 1, conditions }));
    answer = () => ({ status: {}, children: [] });
    expect(await sync()).toMatchObject({ outcome: 'failed' });
    elapsed = 10_000;
    expect(await sync()).toMatchObject({ outcome: 'failed' });
    const message = expect.stringContaining('it would delete the ServiceAccount ns/agent-runtime-workspace-a');
    expect(written).toMatchObject([
      {
        conditions: [
          { type: 'Ready', message },
          { type: 'Synced', status: 'False', message },
        ],
      },
    ]);
  });

  it('reports the outage for a UserSwarm whose calls alone fail for long', async () => {
    parents.put(userSwarm({}));
    answer = unavailable(0);
    await sync();
    elapsed += 9_999;
    await sync();
    expect(written).toEqual([]);
    elapsed += 1;
    await sync();
    expect(written).toHaveLength(1);
  });

  it('requeues after the Retry-After of a busy webhook without a report', async () => {
    parents.put(userSwarm({}));
    answer = () => {
      throw new HookBusy(7);
    };
    elapsed = 60_000;
    expect(await sync()).toEqual({ outcome: 'waiting', resyncAfterS: 7 });
    answer = () => {
      throw new HookBusy(undefined);
    };
    expect(await sync()).toMatchObject({ outcome: 'again' });
    expect(written).toEqual([]);
  });
});
