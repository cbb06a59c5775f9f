import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject, SyncRequest, SyncResponse } from '@uswarm/contract/userswarm';
import { createStore, KubeError } from '@uswarm/kube-client';
import { createChildWriter } from '../apply/child-writer.js';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { HookError } from '../hook/hook-error.js';
import type { NamespaceScope, ScopeState } from '../caches/namespace-scope.js';
import { ownerUid } from '../caches/namespace-scope.js';
import { FINALIZER } from './finalizer.js';
import { describeController } from './request.js';
import { account, dying, owned, userSwarm } from '../../test/userswarm-fixtures.js';
import { emptyMemory, syncUserSwarm, type SyncDeps, type SyncResult } from './sync.js';

const never = new AbortController().signal;

describe('one reconcile', () => {
  let calls: string[];
  let asked: SyncRequest[];
  let answer: (request: SyncRequest) => SyncResponse;
  let state: ScopeState;
  let refusals: Record<string, KubeError>;
  let memory: ReturnType<typeof emptyMemory>;
  let parents: ReturnType<typeof createStore>;
  let accounts: ReturnType<typeof createStore>;
  let elapsed: number;
  let mayStart: boolean;
  let forgotten: string[];
  let pods: ReturnType<typeof createStore>;

  beforeEach(() => {
    calls = [];
    mayStart = true;
    forgotten = [];
    pods = createStore({ indexBy: ({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] });
    asked = [];
    refusals = {};
    answer = () => ({ status: { phase: 'Progressing' }, children: [account()] });
    state = 'ready';
    elapsed = 0;
    memory = emptyMemory();
    parents = createStore();
    accounts = createStore({ indexBy: ownerUid });
  });

  const call = (name: string): void => {
    const refusal = refusals[name];
    calls.push(name);
    delete refusals[name];
    if (refusal !== undefined) throw refusal;
  };
  const newer = (object: KubernetesObject, fields: object = {}): KubernetesObject => ({
    ...object,
    ...fields,
    metadata: { ...object.metadata, resourceVersion: `${Number(object.metadata.resourceVersion ?? 0) + 1}` },
  });
  const live = (): KubernetesObject => parents.get('workspace-a') ?? userSwarm();
  const stored = (): Record<string, unknown> => (live()['status'] ?? {}) as Record<string, unknown>;
  const synced = (): unknown =>
    (stored()['conditions'] as { type: string }[] | undefined)?.find(({ type }) => type === 'Synced');

  const sync = (failures = 0): Promise<SyncResult> => {
    const client: SyncDeps['client'] = {
      delete: async ({ kind }) => {
        call(`delete ${kind}`);
        return undefined;
      },
      get: async () => {
        call('get');
        return newer(newer(live()));
      },
      mergePatch: async (_resource, _name, patch) => {
        call('patch');
        const { finalizers } = (patch as { metadata: { finalizers: string[] } }).metadata;
        const object = live();
        return newer({ ...object, metadata: { ...object.metadata, finalizers } });
      },
      replace: async (_resource, object) => {
        call('status');
        return newer(live(), { status: object['status'] });
      },
    };
    const writer = createChildWriter(
      {
        get: async () => owned('another'),
        create: async (_resource, object) => {
          call('create');
          return { ...object, metadata: { ...object.metadata, uid: 's1', resourceVersion: '8' } };
        },
        apply: async (_resource, object) => object,
        jsonPatch: async () => account(),
        delete: async () => {
          call('delete');
          return undefined;
        },
      },
      'test',
    );
    const scope: NamespaceScope = {
      name: 'ns',
      children: { 'ServiceAccount.v1': accounts, 'Service.v1': createStore(), 'Deployment.apps/v1': createStore() },
      pods,
      warnings: { of: () => [] },
      state: () => state,
      alive: () => true,
      setPresence: () => {},
      stop: async () => {},
    };
    const deps: SyncDeps = {
      client,
      writer,
      starts: {
        admit: () => mayStart,
        forget: (key) => void forgotten.push(key),
      },
      hook: {
        call: async (request) => {
          asked.push(request);
          calls.push('hook');
          return answer(request);
        },
      },
      caches: { parents, namespaces: createStore(), scope: (name) => (name === 'ns' ? scope : undefined) },
      resource: USERSWARMS,
      controller: describeController(USERSWARMS, 30),
      clock: { now: () => new Date('2030-01-01T00:00:00Z') },
      elapsed: () => elapsed,
      onChild: () => {},
      onStatus: () => {},
    };
    return syncUserSwarm(deps, 'workspace-a', { memory, failures, signal: never });
  };

  it('adds the finalizer before the hook call, then applies the children, then writes the status', async () => {
    parents.put(userSwarm({ finalizers: ['other'] }));
    expect(await sync()).toEqual({ outcome: 'synced', requeue: true });
    expect(calls).toEqual(['patch', 'hook', 'create', 'status']);
    expect(asked[0]?.parent.metadata.finalizers).toEqual(['other', FINALIZER]);
    expect(stored()).toMatchObject({ phase: 'Progressing', observedGeneration: 1 });
    expect(synced()).toMatchObject({ status: 'True', reason: 'Synced' });
  });

  it('writes nothing in the next reconcile, which observes its own writes', async () => {
    parents.put(userSwarm());
    answer = ({ parent }) => ({ status: { ...parent.status, phase: 'Progressing' }, children: [account()] });
    await sync();
    calls.length = 0;
    expect(await sync()).toEqual({ outcome: 'synced', requeue: false });
    expect(calls).toEqual(['hook']);
    expect(Object.keys(asked[1]?.children['ServiceAccount.v1'] ?? {})).toEqual(['ns/s']);
  });

  it('sends exactly the children that this UserSwarm controls', async () => {
    parents.put(userSwarm());
    accounts.put(owned('u0'));
    refusals['create'] = new KubeError(409, { reason: 'AlreadyExists' });
    await sync();
    expect(asked[0]?.children).toEqual({ 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} });
    expect(synced()).toMatchObject({ status: 'False', reason: 'NameConflict' });
    expect(calls).not.toContain('delete');
  });

  it('tells the webhook about a queued start, and releases the slot of a start that failed', async () => {
    parents.put(userSwarm());
    mayStart = false;
    await sync();
    expect(asked[0]?.parent.metadata.annotations).toEqual({ 'uswarm.dev/start': 'queued' });
    expect(forgotten).toEqual([]);
    mayStart = true;
    await sync();
    expect(asked[1]?.parent.metadata.annotations).toBeUndefined();
    // It was let in, and no Deployment came of it.
    expect(forgotten).toEqual(['workspace-a']);
    expect(live().metadata.annotations).toBeUndefined();
  });

  it.each([
    ['another namespace', { children: [account('other')] }],
    ['a namespace that is allowed to others', { children: [account(), account('kube-system')] }],
  ])('applies nothing from a response with a child in %s', async (_what, given) => {
    parents.put(userSwarm({}, { status: { phase: 'Error', observedGeneration: 0 } }));
    accounts.put(owned());
    answer = () => ({ status: { phase: 'Ready' }, ...given });
    expect(await sync(1)).toMatchObject({ outcome: 'failed', reason: 'WebhookUnavailable' });
    expect(calls).toEqual(['hook']);
    elapsed += 10_000;
    expect(await sync(2)).toMatchObject({ outcome: 'failed', reason: 'WebhookUnavailable' });
    expect(calls).toEqual(['hook', 'hook', 'status']);
    expect(stored()['phase']).toBe('Progressing');
  });

  it('deletes children that are no longer desired', async () => {
    parents.put(userSwarm());
    accounts.put(owned());
    answer = () => ({ status: {}, children: [] });
    expect(await sync()).toMatchObject({ outcome: 'synced', requeue: true });
    expect(calls).toEqual(['hook', 'delete', 'status']);
  });

  it('removes the finalizer only when the webhook returns finalized', async () => {
    parents.put(userSwarm(dying));
    accounts.put(owned());
    answer = ({ children }) => ({
      status: { phase: 'Deleting' },
      children: [],
      finalized: Object.keys(children['ServiceAccount.v1']).length === 0,
    });
    expect(await sync()).toMatchObject({ outcome: 'synced', requeue: true });
    expect(asked[0]?.finalizing).toBe(true);
    expect(await sync()).toEqual({ outcome: 'finalized' });
    expect(calls).toEqual(['hook', 'delete', 'status', 'hook', 'patch']);
  });

  it.each([
    [
      'the webhook fails',
      () =>
        void (answer = () => {
          throw new HookError('refused', '500');
        }),
    ],
    ['the namespace may not be read', () => void (state = 'denied')],
    ['the namespace is not known yet', () => void (state = 'loading')],
    ['a child cannot be deleted', () => void (refusals['delete'] = new KubeError(403, { reason: 'Forbidden' }))],
  ])('never removes the finalizer when %s', async (_what, breakIt) => {
    parents.put(userSwarm(dying));
    accounts.put(owned());
    answer = () => ({ status: {}, children: [], finalized: true });
    breakIt();
    await sync(1);
    expect(calls).not.toContain('patch');
    expect(live().metadata.finalizers).toEqual([FINALIZER]);
  });

  it('deletes children before pods, and keeps the pods while a child could not be deleted', async () => {
    const labels = { 'app.kubernetes.io/instance': 'workspace-a' };
    const [controlled] = [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'agent-runtime-workspace-a-7', uid: 'r1' },
    ];
    const metadata = { name: 'p', namespace: 'ns', uid: 'p1', labels, ownerReferences: [controlled!] };
    pods.put({ apiVersion: 'v1', kind: 'Pod', metadata });
    parents.put(userSwarm(dying));
    accounts.put(owned());
    answer = () => ({ status: { phase: 'Deleting' }, children: [], finalized: false });
    refusals['delete'] = new KubeError(403, { reason: 'Forbidden', message: 'no' });
    expect((await sync()).outcome).toBe('failed');
    expect(calls.filter((name) => name.startsWith('delete'))).toEqual(['delete']);
    calls.length = 0;
    await sync();
    expect(calls.filter((name) => name.startsWith('delete'))).toEqual(['delete', 'delete ReplicaSet', 'delete Pod']);
  });

  it('ignores a terminating UserSwarm without our finalizer or with orphaned children', async () => {
    parents.put(userSwarm({ ...dying, finalizers: ['other'] }));
    expect(await sync()).toEqual({ outcome: 'waiting' });
    parents.put(userSwarm({ ...dying, resourceVersion: '9', finalizers: ['orphan', FINALIZER] }));
    expect(await sync()).toEqual({ outcome: 'waiting' });
    expect(calls).toEqual([]);
  });

  it('creates nothing in a missing namespace, and finalizes there', async () => {
    state = 'absent';
    parents.put(userSwarm());
    expect(await sync()).toMatchObject({ outcome: 'failed', reason: 'NamespaceMissing', requeue: true });
    expect(calls).toEqual(['hook', 'status']);
    parents.put(userSwarm({ ...dying, resourceVersion: '50' }));
    answer = () => ({ status: {}, children: [], finalized: true });
    expect(await sync()).toEqual({ outcome: 'finalized' });
  });

  it('does not call the webhook for a namespace that may not be read', async () => {
    state = 'denied';
    parents.put(userSwarm());
    expect(await sync()).toMatchObject({ outcome: 'failed', reason: 'Forbidden' });
    expect(calls).toEqual(['status']);
  });

  describe('a UserSwarm in an unmanaged namespace', () => {
    const elsewhere = { spec: { userId: 'x', placement: { runtimeNamespace: 'former' } } };
    const runs = { phase: 'Ready', image: 'i', address: 'http://a:1', observedGeneration: 1 };

    it.each([
      ['lives', {}, { status: runs }],
      ['is being deleted', dying, { status: runs }],
      ['is refused by now', dying, { status: { ...runs, phase: 'Error' } }],
      ['got no status', dying, {}],
    ])('is not changed if it may have children there: one that %s', async (_what, metadata, fields) => {
      parents.put(userSwarm(metadata, { ...elsewhere, ...fields }));
      answer = () => ({ status: {}, children: [], finalized: true });
      expect(await sync()).toMatchObject({ outcome: 'failed', reason: 'Forbidden' });
      expect(calls).toEqual(['status']);
      expect(stored()).toMatchObject((fields as { status?: object }).status ?? {});
      expect(synced()).toMatchObject({ status: 'False', reason: 'Forbidden' });
      expect((synced() as { message: string }).message).toMatch(/former.*RUNTIME_NAMESPACES/);
    });

    it('is released if it was rejected from the start', async () => {
      parents.put(userSwarm(dying, { ...elsewhere, status: { phase: 'Error', observedGeneration: 1 } }));
      answer = () => ({ status: {}, children: [], finalized: true });
      expect(await sync()).toEqual({ outcome: 'finalized' });
    });

    it('gets no finalizer if it has no children', async () => {
      parents.put(userSwarm({ finalizers: [] }, elsewhere));
      answer = () => ({ status: { phase: 'Error' }, children: [] });
      expect(await sync()).toMatchObject({ outcome: 'synced' });
      expect(calls).toEqual(['hook', 'status']);
    });
  });

  it('backs off when another client overwrites the status', async () => {
    parents.put(userSwarm());
    answer = () => ({ status: { phase: 'Ready' }, children: [], resyncAfterSeconds: 60 });
    await sync();
    parents.put(userSwarm({ resourceVersion: '50' }, { status: { phase: 'Theirs' } }));
    calls.length = 0;
    elapsed += 50;
    expect(await sync()).toEqual({ outcome: 'synced', requeue: false, resyncAfterS: 0.15 });
    elapsed += 150;
    expect(await sync()).toMatchObject({ outcome: 'synced', resyncAfterS: 60 });
    expect(calls).toEqual(['hook', 'hook', 'status']);
  });

  it.each(['patch', 'status'])('requeues with the newest version after a conflict (%s)', async (verb) => {
    parents.put(userSwarm({ finalizers: [] }));
    refusals[verb] = new KubeError(409, { reason: 'Conflict' });
    expect(await sync()).toMatchObject({ requeue: true, outcome: 'again' });
    expect(calls.at(-1)).toBe('get');
    expect(Number(live().metadata.resourceVersion)).toBeGreaterThan(6);
  });

  it('ends when the UserSwarm was deleted', async () => {
    expect(await sync()).toEqual({ outcome: 'gone' });
    parents.put(userSwarm({ finalizers: [] }));
    refusals['patch'] = new KubeError(404, { reason: 'NotFound' });
    expect(await sync()).toEqual({ outcome: 'gone' });
    expect(parents.list()).toEqual([]);
  });

  it('returns the resyncAfterSeconds of the webhook', async () => {
    parents.put(userSwarm());
    answer = () => ({ status: {}, children: [], resyncAfterSeconds: 2.5 });
    expect(await sync()).toMatchObject({ resyncAfterS: 2.5 });
  });
});
