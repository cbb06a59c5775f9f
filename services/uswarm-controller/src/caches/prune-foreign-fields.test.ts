import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ManagedFields } from '@uswarm/kube-client';
import { pruneForeignFields } from './prune-foreign-fields.js';

const US = 'uswarm-controller';
const DESIRED: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's' },
  spec: {
    type: 'ClusterIP',
    selector: { app: 'x' },
    ports: [{ port: 1 }],
    template: { metadata: { labels: {} }, spec: { containers: [{ name: 'c' }] } },
  },
};
const stored = (managedFields: ManagedFields[], spec: object = {}): KubernetesObject => ({
  ...DESIRED,
  metadata: { name: 's', managedFields } as KubernetesObject['metadata'],
  spec: { ...(DESIRED['spec'] as object), ...spec },
});
const by = (manager: string, spec: object, fields: Partial<ManagedFields> = {}): ManagedFields => ({
  manager,
  operation: 'Update',
  fieldsV1: { 'f:metadata': { 'f:labels': { 'f:theirs': {} } }, 'f:spec': spec },
  ...fields,
});
const patch = (entries: ManagedFields[], spec?: object) => pruneForeignFields(stored(entries, spec), DESIRED, US);

describe('pruning foreign fields', () => {
  it('removes a field that another manager owns and we do not set', () => {
    const theirs = { 'f:externalIPs': { 'v:"192.0.2.1"': {} }, 'f:affinity': { '.': {}, 'f:clientIP': { 'f:s': {} } } };
    const spec = { externalIPs: ['192.0.2.1'], affinity: { clientIP: { s: 1 } } };
    expect(patch([by('kubectl', theirs)], spec)).toEqual([
      { op: 'remove', path: '/spec/externalIPs' },
      { op: 'remove', path: '/spec/affinity' },
    ]);
  });

  it('replaces a list with foreign items as a whole, once', () => {
    const port = { 'f:ports': { 'k:{"port":2}': { '.': {}, 'f:port': {} } } };
    expect(patch([by('kubectl-edit', port), by('helm', port)])).toEqual([
      { op: 'add', path: '/spec/ports', value: [{ port: 1 }] },
    ]);
    const variable = { 'k:{"name":"c"}': { 'f:env': { 'k:{"name":"X"}': {} } } };
    const theirs = { 'f:template': { 'f:spec': { 'f:containers': variable } } };
    const template = { metadata: { labels: {} }, spec: { containers: [{ name: 'c', env: [{ name: 'X' }] }] } };
    expect(patch([by('kubectl', theirs)], { template })).toEqual([
      { op: 'add', path: '/spec/template/spec/containers', value: [{ name: 'c' }] },
    ]);
  });

  it('keeps a list whose foreign fields are as desired', () => {
    const theirs = { 'k:{"port":1}': { '.': {}, 'f:port': {} } };
    expect(patch([by('kubectl', { 'f:ports': theirs })])).toEqual([]);
  });

  it('replaces an atomic list with foreign items', () => {
    expect(patch([by('kubectl', { 'f:ports': {} })], { ports: [{ port: 1, name: 'theirs' }] })).toEqual([
      { op: 'add', path: '/spec/ports', value: [{ port: 1 }] },
    ]);
  });

  it('replaces a list with an item that a foreign manager addresses by value or index', () => {
    const desired = { ...DESIRED, spec: { names: ['a'], hosts: [{ ip: '1' }] } };
    const managedFields = [by('kubectl', { 'f:names': { 'v:"b"': {} }, 'f:hosts': { 'i:0': { 'f:name': {} } } })];
    const seen = { ...stored(managedFields), spec: { names: ['a', 'b'], hosts: [{ ip: '1', name: 'x' }] } };
    expect(pruneForeignFields(seen, desired, US)).toEqual([
      { op: 'add', path: '/spec/names', value: ['a'] },
      { op: 'add', path: '/spec/hosts', value: [{ ip: '1' }] },
    ]);
  });

  it('sets a foreign value back together with the removal of the fields that depend on it', () => {
    const theirs = { 'f:type': {}, 'f:externalName': {} };
    expect(patch([by('kubectl', theirs)], { type: 'ExternalName', externalName: 'x' })).toEqual([
      { op: 'add', path: '/spec/type', value: 'ClusterIP' },
      { op: 'remove', path: '/spec/externalName' },
    ]);
  });

  it('removes the highest field that we do not set, so that defaults do not restore it', () => {
    const desired = { ...DESIRED, spec: { strategy: { type: 'Recreate' } } };
    const rollingUpdate = { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} };
    const managedFields = [by('kubectl', { 'f:strategy': { 'f:rollingUpdate': rollingUpdate, 'f:type': {} } })];
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } };
    expect(pruneForeignFields({ ...stored(managedFields), spec: { strategy } }, desired, US)).toEqual([
      { op: 'remove', path: '/spec/strategy/rollingUpdate' },
      { op: 'add', path: '/spec/strategy/type', value: 'Recreate' },
    ]);
  });

  it('removes other new metadata of a pod template, but not its annotations', () => {
    const desired = { ...DESIRED, spec: { template: { spec: {} } } };
    const metadata = { 'f:annotations': { '.': {}, 'f:a': {} }, 'f:labels': { '.': {}, 'f:b': {} } };
    const managedFields = [by('kubectl', { 'f:template': { 'f:metadata': metadata } })];
    const template = { metadata: { annotations: { a: '1' }, labels: { b: '1' } }, spec: {} };
    expect(pruneForeignFields({ ...stored(managedFields), spec: { template } }, desired, US)).toEqual([
      { op: 'remove', path: '/spec/template/metadata/labels' },
    ]);
  });

  it('escapes a slash in a field name', () => {
    const theirs = { 'f:template': { 'f:metadata': { 'f:labels': { 'f:a/b~c': {} } } } };
    const template = { metadata: { labels: { 'a/b~c': '1' } } };
    expect(patch([by('kubectl', theirs)], { template })).toEqual([
      { op: 'remove', path: '/spec/template/metadata/labels/a~1b~0c' },
    ]);
  });

  it('keeps shared fields, missing fields and annotations of the pod template', () => {
    const note = { 'f:template': { 'f:metadata': { 'f:annotations': { 'f:restartedAt': {} } } } };
    const template = { metadata: { annotations: { restartedAt: 'now' } } };
    expect(patch([by('kubectl', { 'f:type': {}, 'f:selector': {}, 'f:paused': {}, ...note })], { template })).toEqual(
      [],
    );
  });

  it('keeps our own fields, subresources and fields outside the spec', () => {
    const paused = { 'f:paused': {} };
    const entries = [
      by(US, paused),
      by('kubectl', paused, { subresource: 'scale' }),
      by('kubectl', {}, { fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:a': {} } } } }),
      { manager: 'old' },
    ];
    expect(patch(entries, { paused: true })).toEqual([]);
    expect(patch([by('kubectl', paused)], { paused: true })).toHaveLength(1);
  });
});
