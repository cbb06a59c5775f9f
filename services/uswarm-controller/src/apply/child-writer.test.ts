import { beforeEach, describe, expect, it } from '@jest/globals';
import { createStore, KubeError, type KubernetesObject } from '@uswarm/kube-client';
import { CHILD_RESOURCES } from '../resources.js';
import { createChildWriter } from './child-writer.js';
import { ApplyError, RequeueError } from './failure.js';

const never = new AbortController().signal;
const refuse = (status: number, reason: string): never => {
  throw new KubeError(status, { reason, message: reason });
};
const deployment = (owner: string, metadata: object = {}): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'd',
    namespace: 'ns',
    ownerReferences: [{ apiVersion: 'a', kind: 'UserSwarm', name: 'w', uid: owner, controller: true }],
    ...metadata,
  } as KubernetesObject['metadata'],
});

describe('the child writer', () => {
  let live: KubernetesObject | undefined;
  let calls: [string, unknown][];
  let store: ReturnType<typeof createStore>;
  /** The object after another client has changed it between our patch and our apply. */
  let changedAfterPatch: KubernetesObject | undefined;

  const answer = (fields: object = {}): KubernetesObject => {
    live = deployment('u1', { uid: 'd1', resourceVersion: '9', ...fields });
    return live;
  };
  const writer = createChildWriter(
    {
      get: async () => live ?? refuse(404, 'NotFound'),
      create: async (_resource, object) => {
        calls.push(['create', object]);
        return live === undefined ? answer() : refuse(409, 'AlreadyExists');
      },
      apply: async (_resource, object, options) => {
        calls.push([options?.force === true ? 'apply by force' : 'apply', object]);
        const { resourceVersion } = object.metadata;
        if (resourceVersion !== undefined && resourceVersion !== live?.metadata.resourceVersion) {
          return refuse(409, 'Conflict');
        }
        return answer();
      },
      jsonPatch: async (_resource, _name, patch) => {
        calls.push(['jsonPatch', patch]);
        if (live === undefined) return refuse(404, 'NotFound');
        const patched = { ...live, metadata: { ...live.metadata, resourceVersion: '10' } };
        live = changedAfterPatch ?? patched;
        return patched;
      },
      delete: async (_resource, _name, options) => {
        calls.push(['delete', options]);
        if (live === undefined) return refuse(404, 'NotFound');
        if (live.metadata.uid !== options.uid) return refuse(409, 'Conflict');
        if ((options.resourceVersion ?? live.metadata.resourceVersion) !== live.metadata.resourceVersion) {
          return refuse(409, 'Conflict');
        }
        return options.propagation === 'Foreground'
          ? answer({ deletionTimestamp: '2030-01-01T00:00:00Z', resourceVersion: '10' })
          : undefined;
      },
    },
    'uswarm-controller',
  );
  const target = () => ({ resource: CHILD_RESOURCES['Deployment.apps/v1'], store });
  const verbs = (): string[] => calls.map(([verb]) => verb);

  beforeEach(() => {
    live = undefined;
    calls = [];
    changedAfterPatch = undefined;
    store = createStore();
  });

  it('creates a missing child and stores the response immediately', async () => {
    await writer.create(target(), deployment('u1'), never);
    expect(verbs()).toEqual(['create']);
    expect(store.get('ns/d')?.metadata.uid).toBe('d1');
  });

  it('throws NameConflict for an object of another owner, and does not change it', async () => {
    live = deployment('another', { uid: 'x' });
    const attempt = writer.create(target(), deployment('u1'), never);
    await expect(attempt).rejects.toMatchObject({ reason: 'NameConflict' });
    await expect(attempt).rejects.toBeInstanceOf(ApplyError);
    expect(verbs()).toEqual(['create']);
    expect(store.list()).toEqual([]);
  });

  it('does not adopt an object without an owner', async () => {
    live = {
      ...deployment('x'),
      metadata: { name: 'd', namespace: 'ns', uid: 'x', labels: { 'controller-uid': 'u1' } },
    };
    await expect(writer.create(target(), deployment('u1'), never)).rejects.toMatchObject({ reason: 'NameConflict' });
    expect(verbs()).toEqual(['create']);
  });

  it('applies its own object that the cache did not have', async () => {
    live = deployment('u1', { uid: 'd1' });
    await writer.create(target(), deployment('u1'), never);
    expect(verbs()).toEqual(['create', 'apply by force']);
    expect(calls[1]?.[1]).toMatchObject({ metadata: { uid: 'd1' } });
  });

  it('waits for its own terminating object', async () => {
    live = deployment('u1', { uid: 'd1', deletionTimestamp: '2030-01-01T00:00:00Z' });
    await expect(writer.create(target(), deployment('u1'), never)).rejects.toMatchObject({ reason: 'ApplyFailed' });
    expect(verbs()).toEqual(['create']);
  });

  it('applies later writes with the uid of the object', async () => {
    live = deployment('u1', { uid: 'd1', managedFields: [{ manager: 'uswarm-controller', operation: 'Apply' }] });
    await writer.update(target(), deployment('u1'), 'd1', never);
    expect(verbs()).toEqual(['apply by force']);
    expect(calls[0]?.[1]).toMatchObject({ metadata: { uid: 'd1' } });
    expect(store.get('ns/d')?.metadata.resourceVersion).toBe('9');
  });

  it('returns the field manager of the previous write', async () => {
    const managedFields = [
      { manager: 'uswarm-controller', operation: 'Apply', time: '2030-01-01T00:00:00Z' },
      { manager: 'kyverno', operation: 'Update', time: '2030-01-01T00:00:01Z' },
    ];
    live = deployment('u1', { uid: 'd1', resourceVersion: '5', managedFields });
    expect(await writer.update(target(), deployment('u1'), 'd1', never)).toMatchObject({ rewrittenBy: 'kyverno' });
  });

  it('transfers the fields of an earlier patch to the existing apply entry', async () => {
    const entry = (operation: string, fields: object) => ({
      manager: 'uswarm-controller',
      operation,
      fieldsV1: { 'f:spec': fields },
    });
    const managedFields = [
      entry('Apply', { 'f:a': {}, 'f:b': { 'f:c': {} } }),
      entry('Update', { 'f:b': { 'f:d': {} } }),
    ];
    live = deployment('u1', { uid: 'd1', resourceVersion: '5', managedFields });
    await writer.update(target(), deployment('u1'), 'd1', never);
    expect(calls[0]?.[1]).toContainEqual({
      op: 'replace',
      path: '/metadata/managedFields',
      value: [entry('Apply', { 'f:a': {}, 'f:b': { 'f:c': {}, 'f:d': {} } })],
    });
  });

  it('transfers the fields of the create before the first apply', async () => {
    const status = { manager: 'uswarm-controller', operation: 'Update', subresource: 'status' };
    const other = { manager: 'kube-controller-manager', operation: 'Update' };
    const created = { manager: 'uswarm-controller', operation: 'Update', fieldsV1: { 'f:spec': {} } };
    live = deployment('u1', { uid: 'd1', resourceVersion: '5', managedFields: [other, created, status] });
    await writer.update(target(), deployment('u1'), 'd1', never);
    expect(verbs()).toEqual(['jsonPatch', 'apply by force']);
    expect(calls[0]?.[1]).toEqual([
      { op: 'replace', path: '/metadata/resourceVersion', value: '5' },
      { op: 'replace', path: '/metadata/managedFields', value: [other, { ...created, operation: 'Apply' }, status] },
    ]);
  });

  it('removes foreign fields from the spec before the apply', async () => {
    const fieldsV1 = { 'f:spec': { 'f:paused': {}, 'f:list': { 'k:{"name":"theirs"}': {} } } };
    const spec = { paused: true, list: [{ name: 'ours' }, { name: 'theirs' }] };
    live = {
      ...deployment('u1', { uid: 'd1', resourceVersion: '9', managedFields: [{ manager: 'kubectl', fieldsV1 }] }),
      spec,
    };
    await writer.update(target(), { ...deployment('u1'), spec: { list: [{ name: 'ours' }] } }, 'd1', never);
    expect(verbs()).toEqual(['jsonPatch', 'apply by force']);
    expect(calls[0]?.[1]).toEqual([
      { op: 'replace', path: '/metadata/resourceVersion', value: '9' },
      { op: 'remove', path: '/spec/paused' },
      { op: 'add', path: '/spec/list', value: [{ name: 'ours' }] },
    ]);
  });

  it('applies to the version that it read', async () => {
    live = deployment('u1', { uid: 'd1', resourceVersion: '5' });
    await writer.update(target(), deployment('u1'), 'd1', never);
    expect(calls).toMatchObject([['apply by force', { metadata: { uid: 'd1', resourceVersion: '5' } }]]);
  });

  it('applies nothing if another client changes the object after the removal of foreign fields', async () => {
    const managedFields = [{ manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:paused': {} } } }];
    live = { ...deployment('u1', { uid: 'd1', resourceVersion: '9', managedFields }), spec: { paused: true } };
    changedAfterPatch = deployment('u1', { uid: 'd1', resourceVersion: '11' });
    const update = writer.update(target(), { ...deployment('u1'), spec: {} }, 'd1', never);
    await expect(update).rejects.toBeInstanceOf(RequeueError);
    expect(verbs()).toEqual(['jsonPatch', 'apply by force']);
    expect(calls[1]?.[1]).toMatchObject({ metadata: { resourceVersion: '10' } });
    expect(store.list()).toEqual([]);
  });

  it.each([
    ['was recreated with another uid', deployment('u1', { uid: 'd2' })],
    ['has another owner', deployment('u2', { uid: 'd1' })],
  ])('does not change an object that %s', async (_what, now) => {
    live = now;
    await expect(writer.update(target(), deployment('u1'), 'd1', never)).rejects.toBeInstanceOf(RequeueError);
    expect(calls).toEqual([]);
  });

  it('keeps an object in the store during its foreground deletion', async () => {
    live = deployment('u1', { uid: 'd1' });
    store.put(live);
    await writer.remove(target(), live, 'Foreground', never);
    expect(calls).toEqual([['delete', { uid: 'd1', propagation: 'Foreground' }]]);
    expect(store.get('ns/d')?.metadata.deletionTimestamp).toBe('2030-01-01T00:00:00Z');
  });

  it('removes an object from the store immediately after its background deletion', async () => {
    live = { ...deployment('u1', { uid: 'd1', resourceVersion: '3' }), kind: 'Service' };
    store.put(live);
    await writer.remove({ ...target(), resource: CHILD_RESOURCES['Service.v1'] }, live, 'Background', never);
    expect(calls).toEqual([['delete', { uid: 'd1', resourceVersion: '3', propagation: 'Background' }]]);
    expect(store.list()).toEqual([]);
    store.put({ ...live, metadata: { ...live.metadata, resourceVersion: '4' } });
    expect(store.list()).toEqual([]);
  });

  it('does not fail to delete an object that no longer exists', async () => {
    const seen = deployment('u1', { uid: 'd1', resourceVersion: '1' });
    store.put(seen);
    await writer.remove(target(), seen, 'Foreground', never);
    expect(store.list()).toEqual([]);
  });

  it('does not delete an object that was replaced by another one', async () => {
    const seen = deployment('u1', { uid: 'd1', resourceVersion: '1' });
    store.put(seen);
    live = deployment('u9', { uid: 'd9', resourceVersion: '2' });
    await expect(writer.remove(target(), seen, 'Foreground', never)).rejects.toBeInstanceOf(RequeueError);
    expect(store.list()).toEqual([]);
  });

  it('does not delete an object that has changed since, and stores the new version', async () => {
    const seen = deployment('u1', { uid: 'd1', resourceVersion: '1' });
    store.put(seen);
    live = deployment('u1', { uid: 'd1', resourceVersion: '2', ownerReferences: [] });
    await expect(writer.remove(target(), seen, 'Background', never)).rejects.toBeInstanceOf(RequeueError);
    expect(store.list()).toEqual([live]);
  });
});
