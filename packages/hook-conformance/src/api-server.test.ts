import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-types';
import { FOREGROUND, ModelApiServer } from './api-server.js';
import { createManualClock } from './clock.js';

const ref = { kind: 'Deployment', namespace: 'n', name: 'd' };
const deployment = (spec: object = {}): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'n' },
  spec: { selector: { matchLabels: { a: '1' } }, template: { metadata: {}, spec: { containers: [] } }, ...spec },
});

let api: ModelApiServer;
beforeEach(() => {
  api = new ModelApiServer(createManualClock().now);
  api.create('user', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n', finalizers: ['kubernetes'] } });
});

describe('ModelApiServer', () => {
  it('creates an object once, and only in an existing namespace', () => {
    expect(api.create('a', deployment()).metadata).toMatchObject({ generation: 1, uid: expect.any(String) });
    expect(() => api.create('a', deployment())).toThrow(expect.objectContaining({ reason: 'AlreadyExists' }));
    const elsewhere = { ...deployment(), metadata: { name: 'd', namespace: 'other' } };
    expect(() => api.create('a', elsewhere)).toThrow(expect.objectContaining({ reason: 'NotFound' }));
    api.delete('user', { kind: 'Namespace', name: 'n' });
    const another = { ...deployment(), metadata: { name: 'e', namespace: 'n' } };
    expect(() => api.create('a', another)).toThrow(expect.objectContaining({ reason: 'Forbidden' }));
  });

  it('increases the generation for a change of the spec but not of labels', () => {
    const created = api.create('a', deployment());
    const relabelled = api.update('a', { ...created, metadata: { ...created.metadata, labels: { x: '1' } } });
    expect(relabelled.metadata.generation).toBe(1);
    const scaled = api.update('a', { ...relabelled, spec: { ...(relabelled['spec'] as object), replicas: 0 } });
    expect(scaled.metadata.generation).toBe(2);
    api.updateStatus('a', ref, { replicas: 1 });
    expect(api.get(ref)).toMatchObject({ metadata: { generation: 2 }, status: { replicas: 1 } });
  });

  it('counts a write without a change but keeps the resource version', () => {
    const created = api.create('a', deployment());
    api.update('a', created);
    expect(api.get(ref)?.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    expect(api.writes.filter(({ by }) => by === 'a')).toHaveLength(2);
  });

  it('rejects a changed selector and a wrong uid', () => {
    const created = api.create('a', deployment());
    expect(() => api.update('a', { ...created, spec: deployment({ selector: {} })['spec'] })).toThrow(
      expect.objectContaining({ reason: 'Invalid' }),
    );
    expect(() => api.delete('a', ref, { uid: 'another' })).toThrow(expect.objectContaining({ reason: 'Conflict' }));
  });

  it('keeps a deleted object until its last finalizer is removed', () => {
    const created = api.create('a', deployment());
    api.delete('a', ref, { foreground: true });
    const terminating = api.get(ref);
    expect(terminating?.metadata).toMatchObject({ uid: created.metadata.uid, finalizers: [FOREGROUND] });
    api.update('gc', { ...terminating!, metadata: { ...terminating!.metadata, finalizers: [] } });
    expect(api.get(ref)).toBeUndefined();
  });
});
