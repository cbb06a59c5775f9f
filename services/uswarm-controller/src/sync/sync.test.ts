import { beforeEach, describe, expect, it } from '@jest/globals';
import { KubeError } from '@uswarm/kube-client';
import { HookError } from '../hook/hook-error.js';
import { createSyncFixture, type SyncFixture } from '../../test/sync-fixture.js';
import { account, deployment, dying, owned, runtimePod, userSwarm } from '../../test/userswarm-fixtures.js';
import { FINALIZER } from './finalizer.js';

const deletingCondition = (message: string): object => ({
  type: 'Ready',
  status: 'False',
  lastTransitionTime: '2030-01-01T00:00:00Z',
  reason: 'Deleting',
  message,
});

describe('one reconcile', () => {
  let fixture: SyncFixture;
  beforeEach(() => {
    fixture = createSyncFixture();
  });

  it('adds the finalizer before the hook call, then applies the children, then writes the status', async () => {
    fixture.parents.put(userSwarm({ finalizers: ['other'] }));
    expect(await fixture.sync()).toEqual({ outcome: 'synced', requeue: true });
    expect(fixture.calls).toEqual(['patch', 'hook', 'create', 'status']);
    expect(fixture.requests[0]?.parent.metadata.finalizers).toEqual(['other', FINALIZER]);
    expect(fixture.stored()).toMatchObject({ phase: 'Progressing', observedGeneration: 1 });
    expect(fixture.synced()).toMatchObject({ status: 'True', reason: 'Synced' });
  });

  it('writes nothing in the next reconcile, which observes its own writes', async () => {
    fixture.parents.put(userSwarm());
    fixture.respond = ({ parent }) => ({ status: { ...parent.status, phase: 'Progressing' }, children: [account()] });
    await fixture.sync();
    fixture.calls.length = 0;
    expect(await fixture.sync()).toEqual({ outcome: 'synced', requeue: false });
    expect(fixture.calls).toEqual(['hook']);
    expect(Object.keys(fixture.requests[1]?.children['ServiceAccount.v1'] ?? {})).toEqual([
      'ns/agent-runtime-workspace-a',
    ]);
  });

  it('waits for the pod of a new Deployment, but observes again if it can adopt one', async () => {
    const start = (created: SyncFixture) => {
      created.parents.put(userSwarm());
      created.respond = () => ({ status: { phase: 'Progressing' }, children: [account(), deployment(1)] });
      return created.sync();
    };
    expect(await start(fixture)).toEqual({ outcome: 'synced', requeue: false });
    const other = createSyncFixture();
    other.pods.put(runtimePod());
    expect(await start(other)).toEqual({ outcome: 'synced', requeue: true });
  });

  it('sends exactly the children that this UserSwarm controls', async () => {
    fixture.parents.put(userSwarm());
    fixture.accounts.put(owned('u0'));
    fixture.failures['create'] = new KubeError(409, { reason: 'AlreadyExists' });
    await fixture.sync();
    expect(fixture.requests[0]?.children).toEqual({
      'ServiceAccount.v1': {},
      'Service.v1': {},
      'Deployment.apps/v1': {},
    });
    expect(fixture.synced()).toMatchObject({ status: 'False', reason: 'NameConflict' });
    expect(fixture.calls).not.toContain('delete');
  });

  it('tells the webhook about a queued start, and releases the slot of a start that failed', async () => {
    fixture.parents.put(userSwarm());
    fixture.mayStart = false;
    await fixture.sync();
    expect(fixture.requests[0]?.parent.metadata.annotations).toEqual({ 'uswarm.dev/start': 'queued' });
    expect(fixture.forgotten).toEqual([]);
    fixture.mayStart = true;
    await fixture.sync();
    expect(fixture.requests[1]?.parent.metadata.annotations).toBeUndefined();
    // It was admitted, but no Deployment was created.
    expect(fixture.forgotten).toEqual(['workspace-a']);
    expect(fixture.live().metadata.annotations).toBeUndefined();
  });

  it.each([
    ['another namespace', { children: [account('other')] }],
    ['another name', { children: [{ ...deployment(1), metadata: { name: 'other', namespace: 'ns' } }] }],
    ['a namespace of other UserSwarms', { children: [account(), account('kube-system')] }],
  ])('applies nothing from a response whose child has %s', async (_what, response) => {
    fixture.parents.put(userSwarm({}, { status: { phase: 'Error', observedGeneration: 0 } }));
    fixture.accounts.put(owned());
    fixture.respond = () => ({ status: { phase: 'Ready' }, ...response });
    expect(await fixture.sync(1)).toMatchObject({ outcome: 'failed', reason: 'WebhookInvalid' });
    expect(fixture.calls).toEqual(['hook']);
    fixture.elapsed += 10_000;
    expect(await fixture.sync(2)).toMatchObject({ outcome: 'failed', reason: 'WebhookInvalid' });
    expect(fixture.calls).toEqual(['hook', 'hook', 'status']);
    expect(fixture.stored()['phase']).toBe('Progressing');
  });

  it('deletes children that are no longer desired', async () => {
    fixture.parents.put(userSwarm());
    fixture.accounts.put(owned());
    fixture.respond = () => ({ status: {}, children: [] });
    expect(await fixture.sync()).toMatchObject({ outcome: 'synced', requeue: true });
    expect(fixture.calls).toEqual(['hook', 'delete', 'status']);
  });

  it('removes the finalizer only when the webhook returns finalized', async () => {
    fixture.parents.put(userSwarm(dying));
    fixture.accounts.put(owned());
    fixture.respond = ({ children }) => ({
      status: { phase: 'Deleting' },
      children: [],
      finalized: Object.keys(children['ServiceAccount.v1']).length === 0,
    });
    expect(await fixture.sync()).toMatchObject({ outcome: 'synced', requeue: true });
    expect(fixture.requests[0]?.finalizing).toBe(true);
    expect(await fixture.sync()).toEqual({ outcome: 'finalized' });
    expect(fixture.calls).toEqual(['hook', 'delete', 'status', 'hook', 'patch']);
  });

  it.each([
    [
      'the webhook fails',
      () =>
        void (fixture.respond = () => {
          throw new HookError('refused', '500');
        }),
    ],
    ['the namespace cannot be read', () => void (fixture.scopeState = 'denied')],
    ['the namespace is not loaded yet', () => void (fixture.scopeState = 'loading')],
    [
      'a child cannot be deleted',
      () => void (fixture.failures['delete'] = new KubeError(403, { reason: 'Forbidden' })),
    ],
  ])('never removes the finalizer when %s', async (_what, injectFault) => {
    fixture.parents.put(userSwarm(dying));
    fixture.accounts.put(owned());
    fixture.respond = () => ({ status: {}, children: [], finalized: true });
    injectFault();
    await fixture.sync(1);
    expect(fixture.calls).not.toContain('patch');
    expect(fixture.live().metadata.finalizers).toEqual([FINALIZER]);
  });

  it('deletes children before pods, and keeps the pods while a child could not be deleted', async () => {
    fixture.pods.put(runtimePod());
    fixture.parents.put(userSwarm(dying));
    fixture.accounts.put(owned());
    fixture.respond = () => ({ status: { phase: 'Deleting' }, children: [], finalized: false });
    fixture.failures['delete'] = new KubeError(403, { reason: 'Forbidden', message: 'no' });
    expect((await fixture.sync()).outcome).toBe('failed');
    expect(fixture.calls.filter((name) => name.startsWith('delete'))).toEqual(['delete']);
    fixture.calls.length = 0;
    await fixture.sync();
    expect(fixture.calls.filter((name) => name.startsWith('delete'))).toEqual([
      'delete',
      'delete ReplicaSet',
      'delete Pod',
    ]);
  });

  it.each([
    ['has no owner', { name: 'agent-runtime-workspace-a', namespace: 'ns' }],
    ['has another owner', owned('u2').metadata],
  ])('keeps the pods of a Deployment that %s, and removes the finalizer', async (_what, metadata) => {
    fixture.deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata };
    fixture.pods.put(runtimePod());
    fixture.parents.put(userSwarm(dying));
    fixture.respond = ({ related }) => ({
      status: { phase: 'Deleting' },
      children: [],
      finalized: Object.keys(related['Pod.v1'] ?? {}).length === 0,
    });
    expect(await fixture.sync()).toEqual({ outcome: 'finalized' });
    expect(fixture.calls).toEqual(['get Deployment', 'hook', 'patch']);
  });

  it('deletes the pods that remain of a Deployment that no longer exists', async () => {
    fixture.pods.put(runtimePod());
    fixture.parents.put(userSwarm(dying));
    fixture.respond = () => ({ status: { phase: 'Deleting' }, children: [], finalized: false });
    await fixture.sync();
    expect(fixture.calls).toEqual(['get Deployment', 'hook', 'delete ReplicaSet', 'delete Pod', 'status']);
  });

  it('names the finalizers of other programs after it has removed its own, with one write', async () => {
    const status = { phase: 'Deleting', conditions: [deletingCondition('Waiting for the deletion of Pod ns/p.')] };
    fixture.parents.put(userSwarm({ ...dying, finalizers: ['example.com/hold', FINALIZER] }, { status }));
    fixture.respond = () => ({ status, children: [], finalized: true });
    expect(await fixture.sync()).toEqual({ outcome: 'finalized' });
    fixture.parents.put(userSwarm({ ...dying, resourceVersion: '6', finalizers: ['example.com/hold'] }, { status }));
    expect(await fixture.sync()).toEqual({ outcome: 'waiting' });
    expect(fixture.stored()).toMatchObject({
      phase: 'Deleting',
      conditions: [{ message: 'All objects are deleted. Waits for the finalizers: example.com/hold.' }],
    });
    expect(await fixture.sync()).toEqual({ outcome: 'waiting' });
    expect(fixture.calls).toEqual(['hook', 'patch', 'status']);
  });

  it('names the finalizers that are left when one of them is removed', async () => {
    fixture.parents.put(userSwarm({ ...dying, finalizers: ['example.com/a', 'example.com/b'] }));
    await fixture.sync();
    fixture.parents.put(
      userSwarm({ ...dying, resourceVersion: '9', finalizers: ['example.com/b'] }, { status: fixture.stored() }),
    );
    fixture.elapsed += 60_000;
    await fixture.sync();
    expect(fixture.stored()).toMatchObject({
      conditions: [{ message: 'All objects are deleted. Waits for the finalizers: example.com/b.' }],
    });
  });

  it('ignores a terminating UserSwarm that only Kubernetes keeps, and one with orphaned children', async () => {
    fixture.parents.put(userSwarm({ ...dying, finalizers: ['foregroundDeletion'] }));
    expect(await fixture.sync()).toEqual({ outcome: 'waiting' });
    fixture.parents.put(userSwarm({ ...dying, resourceVersion: '9', finalizers: ['orphan', FINALIZER] }));
    expect(await fixture.sync()).toEqual({ outcome: 'waiting' });
    expect(fixture.calls).toEqual([]);
  });

  it('creates nothing in a missing namespace, and finalizes there', async () => {
    fixture.scopeState = 'absent';
    fixture.parents.put(userSwarm());
    expect(await fixture.sync()).toMatchObject({ outcome: 'failed', reason: 'NamespaceMissing', requeue: true });
    expect(fixture.calls).toEqual(['hook', 'status']);
    fixture.parents.put(userSwarm({ ...dying, resourceVersion: '50' }));
    fixture.respond = () => ({ status: {}, children: [], finalized: true });
    expect(await fixture.sync()).toEqual({ outcome: 'finalized' });
  });

  it('does not call the webhook for a namespace that cannot be read', async () => {
    fixture.scopeState = 'denied';
    fixture.parents.put(userSwarm());
    expect(await fixture.sync()).toMatchObject({ outcome: 'failed', reason: 'Forbidden' });
    expect(fixture.calls).toEqual(['status']);
  });

  describe('a UserSwarm in an unmanaged namespace', () => {
    const elsewhere = { spec: { userId: 'x', placement: { runtimeNamespace: 'former' } } };
    const runs = { phase: 'Ready', image: 'i', address: 'http://a:1', observedGeneration: 1 };

    it.each([
      ['is running', {}, { status: runs }],
      ['is terminating', dying, { status: runs }],
      ['is terminating and in phase Error', dying, { status: { ...runs, phase: 'Error' } }],
      ['is terminating without a status', dying, {}],
    ])('is not changed if it may have children there: one that %s', async (_what, metadata, fields) => {
      fixture.parents.put(userSwarm(metadata, { ...elsewhere, ...fields }));
      fixture.respond = () => ({ status: {}, children: [], finalized: true });
      expect(await fixture.sync()).toMatchObject({ outcome: 'failed', reason: 'Forbidden' });
      expect(fixture.calls).toEqual(['status']);
      expect(fixture.stored()).toMatchObject((fields as { status?: object }).status ?? {});
      expect(fixture.synced()).toMatchObject({ status: 'False', reason: 'Forbidden' });
      expect((fixture.synced() as { message: string }).message).toMatch(/former.*RUNTIME_NAMESPACES/);
    });

    it('is released if it was rejected from the start', async () => {
      fixture.parents.put(userSwarm(dying, { ...elsewhere, status: { phase: 'Error', observedGeneration: 1 } }));
      fixture.respond = () => ({ status: {}, children: [], finalized: true });
      expect(await fixture.sync()).toEqual({ outcome: 'finalized' });
    });

    it('gets no finalizer if it has no children', async () => {
      fixture.parents.put(userSwarm({ finalizers: [] }, elsewhere));
      fixture.respond = () => ({ status: { phase: 'Error' }, children: [] });
      expect(await fixture.sync()).toMatchObject({ outcome: 'synced' });
      expect(fixture.calls).toEqual(['hook', 'status']);
    });
  });

  it('backs off when another client overwrites the status', async () => {
    fixture.parents.put(userSwarm());
    fixture.respond = () => ({ status: { phase: 'Ready' }, children: [], resyncAfterSeconds: 60 });
    await fixture.sync();
    fixture.parents.put(userSwarm({ resourceVersion: '50' }, { status: { phase: 'Theirs' } }));
    fixture.calls.length = 0;
    fixture.elapsed += 50;
    expect(await fixture.sync()).toEqual({ outcome: 'synced', requeue: false, resyncAfterS: 0.15 });
    fixture.elapsed += 150;
    expect(await fixture.sync()).toMatchObject({ outcome: 'synced', resyncAfterS: 60 });
    expect(fixture.calls).toEqual(['hook', 'hook', 'status']);
  });

  it.each(['patch', 'status'])('requeues with the newest version after a conflict (%s)', async (verb) => {
    fixture.parents.put(userSwarm({ finalizers: [] }));
    fixture.failures[verb] = new KubeError(409, { reason: 'Conflict' });
    expect(await fixture.sync()).toMatchObject({ requeue: true, outcome: 'again' });
    expect(fixture.calls.at(-1)).toBe('get');
    expect(Number(fixture.live().metadata.resourceVersion)).toBeGreaterThan(6);
  });

  it('ends when the UserSwarm was deleted', async () => {
    expect(await fixture.sync()).toEqual({ outcome: 'gone' });
    fixture.parents.put(userSwarm({ finalizers: [] }));
    fixture.failures['patch'] = new KubeError(404, { reason: 'NotFound' });
    expect(await fixture.sync()).toEqual({ outcome: 'gone' });
    expect(fixture.parents.list()).toEqual([]);
  });

  it('returns the resyncAfterSeconds of the webhook', async () => {
    fixture.parents.put(userSwarm());
    fixture.respond = () => ({ status: {}, children: [], resyncAfterSeconds: 2.5 });
    expect(await fixture.sync()).toMatchObject({ resyncAfterS: 2.5 });
  });
});
