import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import fc from 'fast-check';
import { canonical, sameContent } from '../canonical.js';
import { APPLIED_ANNOTATION, desiredChild, ownerReferenceTo } from './desired.js';
import { needsWrite, viewAfter } from './drift.js';

const OWNER = ownerReferenceTo({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-a', uid: 'u1' },
});

const rendered = (fields: object = {}): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'ns', labels: { app: 'x' } },
  spec: {
    replicas: 1,
    template: { spec: { containers: [{ name: 'c', resources: { limits: { memory: '1024Mi' } } }] } },
  },
  ...fields,
});
const desired = (fields: object = {}): KubernetesObject => desiredChild(rendered(fields), OWNER);

/** The object as the API server stores it: with defaults, normalized quantities and a status. */
function stored(object: KubernetesObject, fields: object = {}): KubernetesObject {
  const text = JSON.stringify(object).replace('"1024Mi"', '"1Gi"');
  const kept = JSON.parse(text) as KubernetesObject;
  kept.metadata = { ...kept.metadata, uid: 'd1', resourceVersion: '7', generation: 1 };
  return {
    ...kept,
    spec: { ...(kept['spec'] as object), progressDeadlineSeconds: 600 },
    status: { replicas: 1 },
    ...fields,
  };
}

describe('the desired child', () => {
  it('has our owner reference and label, and nothing that a server sets', () => {
    const child = desiredChild(
      {
        ...rendered({ status: { replicas: 3 } }),
        metadata: {
          name: 'd',
          namespace: 'ns',
          uid: 'x',
          resourceVersion: '3',
          finalizers: ['f'],
          annotations: { note: 'n', [APPLIED_ANNOTATION]: 'echoed' },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'foreign' }],
        },
      },
      OWNER,
    );
    expect(child).not.toHaveProperty('status');
    expect(child.metadata).toEqual({
      name: 'd',
      namespace: 'ns',
      labels: { 'controller-uid': 'u1' },
      annotations: { note: 'n', [APPLIED_ANNOTATION]: expect.stringMatching(/^[\w-]{22}$/) },
      ownerReferences: [
        {
          apiVersion: 'uswarm.dev/v1alpha1',
          kind: 'UserSwarm',
          name: 'workspace-a',
          uid: 'u1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
  });

  it('is independent of key order and null fields', () => {
    const turned = JSON.parse(
      '{"spec":{"b":2,"a":null},"kind":"Service","metadata":{"namespace":"n","name":"s"},"apiVersion":"v1"}',
    );
    const straight = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'n' }, spec: { b: 2 } };
    const [a, b] = [desiredChild(turned, OWNER), desiredChild(straight, OWNER)];
    expect(a).toEqual(b);
    expect(a).toEqual(desiredChild(a, OWNER));
  });
});

describe('needsWrite', () => {
  const object = desired();
  const applied = viewAfter(object, stored(object));

  it('returns false for equal content in the representation of the API server', () => {
    expect(needsWrite(object, stored(object), applied)).toBe(false);
    expect(needsWrite(object, stored(object, { status: { replicas: 9 } }), applied)).toBe(false);
    const seen = stored(object);
    seen.metadata.annotations!['deployment.kubernetes.io/revision'] = '2';
    seen.metadata.resourceVersion = '99';
    expect(needsWrite(object, seen, applied)).toBe(false);
  });

  it('returns true for changed desired content', () => {
    expect(needsWrite(desired({ spec: { replicas: 0 } }), stored(object), applied)).toBe(true);
    // A field that is no longer desired must be removed.
    const without = desired({ spec: { replicas: 1, template: { spec: { containers: [{ name: 'c' }] } } } });
    expect(needsWrite(without, stored(object), applied)).toBe(true);
    expect(needsWrite(without, stored(object), undefined)).toBe(true);
  });

  it.each<[string, (seen: KubernetesObject) => void]>([
    ['a field of the spec', (seen) => void ((seen['spec'] as { replicas: number }).replicas = 3)],
    ['a label', (seen) => void (seen.metadata.labels!['app'] = 'y')],
    ['the absence of a label', (seen) => void delete seen.metadata.labels!['app']],
    ['the label that we watch by', (seen) => void delete seen.metadata.labels!['controller-uid']],
    ['the annotation with the hash', (seen) => void delete seen.metadata.annotations![APPLIED_ANNOTATION]],
    ['the owner reference', (seen) => void (seen.metadata.ownerReferences![0]!.blockOwnerDeletion = false)],
    ['one more owner', (seen) => void seen.metadata.ownerReferences!.push({ ...OWNER, uid: 'u2', controller: false })],
  ])('returns true when another client changed %s', (_what, change) => {
    const seen = stored(object);
    change(seen);
    expect(needsWrite(object, seen, applied)).toBe(true);
    const plain = desired({ spec: { replicas: 1 } });
    const other = stored(plain);
    change(other);
    expect(needsWrite(plain, other, undefined)).toBe(true);
  });

  it('returns true for a foreign field in the spec once the stored representation is known', () => {
    const seen = stored(object, { spec: { ...(stored(object)['spec'] as object), paused: true } });
    expect(needsWrite(object, seen, applied)).toBe(true);
    expect(needsWrite(object, seen, viewAfter(object, seen))).toBe(false);
  });

  it('returns false for added annotations of the pod template, as in a rollout restart', () => {
    const plain = desired({ spec: { template: { metadata: { annotations: { ours: '1' } }, spec: {} } } });
    const restarted = (annotations: object): KubernetesObject =>
      stored(plain, { spec: { template: { metadata: { annotations }, spec: {} } } });
    const before = viewAfter(plain, restarted({ ours: '1' }));
    expect(needsWrite(plain, restarted({ ours: '1', restartedAt: 'now' }), before)).toBe(false);
    expect(needsWrite(plain, restarted({ ours: '2' }), before)).toBe(true);
    expect(needsWrite(plain, restarted({}), before)).toBe(true);
  });

  it.each([{}, { metadata: { labels: { app: 'x' } } }])(
    'returns false for the first annotations of a pod template with metadata %j',
    (pods) => {
      const plain = desired({ spec: { template: { ...pods, spec: {} } } });
      const annotated = (annotations: object): KubernetesObject =>
        stored(plain, { spec: { template: { metadata: { ...pods.metadata, annotations }, spec: {} } } });
      const before = viewAfter(plain, stored(plain, { spec: plain['spec'] }));
      expect(needsWrite(plain, annotated({ restartedAt: 'now' }), before)).toBe(false);
      expect(needsWrite(plain, annotated({}), before)).toBe(false);
    },
  );

  it('returns false after a restart if all our fields are stored unchanged', () => {
    const plain = desired({ spec: { replicas: 1, list: [{ a: 1 }, { a: 2 }] } });
    expect(needsWrite(plain, stored(plain), undefined)).toBe(false);
  });

  it('returns true after a restart for fields that another client has added to the spec', () => {
    const plain = desired({ spec: { selector: { app: 'x' }, template: { spec: {} } } });
    const changed = (spec: object, fields: object): KubernetesObject => {
      const seen = stored(plain, { spec: { ...(plain['spec'] as object), ...spec } });
      const managedFields = [{ manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': fields } }];
      return { ...seen, metadata: { ...seen.metadata, managedFields } };
    };
    const selected = changed({ selector: { app: 'x', changed: 'true' } }, { 'f:selector': {} });
    expect(needsWrite(plain, selected, undefined)).toBe(true);
    expect(needsWrite(plain, changed({ hostNetwork: true }, { 'f:hostNetwork': {} }), undefined)).toBe(true);
    // A rollout restart, and a client that set a field as we do.
    const restarted = { metadata: { annotations: { restartedAt: 'now' } }, spec: {} };
    const annotated = { 'f:template': { 'f:metadata': { 'f:annotations': { 'f:restartedAt': {} } } } };
    expect(needsWrite(plain, changed({ template: restarted }, annotated), undefined)).toBe(false);
    expect(needsWrite(plain, changed({}, { 'f:selector': {} }), undefined)).toBe(false);
  });

  describe('for a container after a restart', () => {
    const container = { name: 'c', env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80 }] };
    const plain = desired({ spec: { template: { spec: { containers: [container] } } } });
    const changed = (fields: object, owned: object, manager = 'kubectl'): KubernetesObject => {
      const seen = stored(plain, { spec: { template: { spec: { containers: [{ ...container, ...fields }] } } } });
      const containers = { 'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:name': {}, ...owned } } };
      const fieldsV1 = { 'f:spec': { 'f:template': { 'f:spec': containers } } };
      return { ...seen, metadata: { ...seen.metadata, managedFields: [{ manager, operation: 'Update', fieldsV1 }] } };
    };

    it.each<[string, object, object]>([
      ['a command', { command: ['sh'] }, { 'f:command': {} }],
      ['a lifecycle', { lifecycle: { preStop: {} } }, { 'f:lifecycle': { '.': {}, 'f:preStop': {} } }],
      ['a privilege', { securityContext: { privileged: true } }, { 'f:securityContext': { 'f:privileged': {} } }],
      [
        'a field of a port',
        { ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }] },
        { 'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:hostPort': {} } } },
      ],
    ])('returns true for %s that another client added', (_what, fields, owned) => {
      expect(needsWrite(plain, changed(fields, owned), undefined)).toBe(true);
    });

    it('returns false for a default that the API server set when we created the container', () => {
      const owned = { 'f:terminationMessagePath': {} };
      const fields = { terminationMessagePath: '/dev/termination-log' };
      expect(needsWrite(plain, changed(fields, owned, 'uswarm-controller'), undefined)).toBe(false);
    });

    it('returns false for a field that another client set as we do', () => {
      const owned = { 'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } } };
      expect(needsWrite(plain, changed({}, owned), undefined)).toBe(false);
    });
  });

  it('returns true once after a restart if the API server normalizes a field', () => {
    expect(needsWrite(object, stored(object), undefined)).toBe(true);
    expect(needsWrite(object, stored(object), viewAfter(object, stored(object)))).toBe(false);
  });

  it('ignores the applied view of another object with the same name', () => {
    const plain = desired({ spec: { replicas: 1 } });
    expect(
      needsWrite(plain, stored(plain), { ...viewAfter(plain, stored(plain)), uid: 'another', view: 'anything' }),
    ).toBe(false);
  });

  it('compares an object in the cache once', () => {
    let reads = 0;
    const counted = (spec: unknown): KubernetesObject => {
      const get = (): unknown => {
        reads += 1;
        return spec;
      };
      return Object.defineProperty(stored(object), 'spec', { get, enumerable: true });
    };
    const { spec } = stored(object);
    const view = viewAfter(object, stored(object));
    const unchanged = counted(spec);
    expect(needsWrite(object, unchanged, view)).toBe(false);
    expect(reads).toBeGreaterThan(0);
    reads = 0;
    expect(needsWrite(object, unchanged, view)).toBe(false);
    expect(reads).toBe(0);
    // Another object with the same version: versions repeat after a restore from a backup.
    expect(needsWrite(object, counted({ ...(spec as object), replicas: 5 }), view)).toBe(true);
  });

  it('compares an object again with another desired content', () => {
    const view = viewAfter(object, stored(object));
    const known = stored(object);
    expect(needsWrite(object, known, view)).toBe(false);
    expect(needsWrite(desired({ spec: { replicas: 7 } }), known, view)).toBe(true);
  });

  it('returns false directly after a write, for any response of the server', () => {
    const value = fc.jsonValue();
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value), fc.dictionary(fc.string(), value), (wanted, made) => {
        const child = desired({ spec: wanted });
        const seen: KubernetesObject = { ...stored(child), spec: { ...wanted, ...made } };
        expect(needsWrite(child, seen, viewAfter(child, seen))).toBe(false);
      }),
    );
  });
});

describe('the canonical text', () => {
  it('is equal only for equal values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const turned = (value: unknown): unknown => {
          if (Array.isArray(value)) return value.map(turned);
          if (typeof value !== 'object' || value === null) return value;
          return Object.fromEntries(
            Object.entries(value)
              .toReversed()
              .map(([name, field]) => [name, turned(field)]),
          );
        };
        expect(canonical(turned(a))).toBe(canonical(a));
        const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
        expect(canonical(a) === canonical(b)).toBe(same);
      }),
    );
  });
});

describe('the comparison of contents', () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, undefined, true, 0, 1, '', 'x'),
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b'), tie('any'), { noNullPrototype: true }),
    ),
  })).any;

  it('is true exactly for values with the same canonical text', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(sameContent(a, b)).toBe(canonical(a) === canonical(b));
        expect(sameContent(a, structuredClone(a))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return fields
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => [name, sorted(field)])
    .concat([['{}', 0]]);
}
