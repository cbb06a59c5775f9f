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
      { op: 'remove', path: '/spec/affinity/clientIP/s' },
    ]);
  });

  it('replaces a list with foreign items as a whole, once', () => {
    const port = { 'f:ports': { 'k:{"port":2}': { '.': {}, 'f:port': {} } } };
    expect(patch([by('kubectl-edit', port), by('helm', port)])).toEqual([
      { op: 'add', path: '/spec/ports', value: [{ port: 1 }] },
    ]);
    const variable = { 'k:{"name":"c"}': { 'f:env': { 'k:{"name":"X"}': {} } } };
    expect(patch([by('kubectl', { 'f:template': { 'f:spec': { 'f:containers': variable } } })])).toEqual([
      { op: 'add', path: '/spec/template/spec/containers', value: [{ name: 'c' }] },
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
