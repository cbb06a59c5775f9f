import { beforeAll, describe, expect, it } from '@jest/globals';
import { CHILD_GROUPS } from '@uswarm/contract/userswarm';
import { z } from 'zod';
import {
  container,
  evaluation,
  external,
  find,
  helm,
  type Manifest,
  ofKind,
  podTemplates,
  render,
} from './support/rendering.js';
import { merge } from './support/value-paths.js';

// The part of Metacontroller's CompositeController (4.16 or newer) that the chart uses, from its documentation.
// The API server would drop unknown keys.

const resource = { apiVersion: z.string(), resource: z.string().regex(/^[a-z]+$/, 'the plural') };
const hook = z.strictObject({
  version: z.enum(['v1', 'v2']),
  webhook: z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    timeout: z.string().regex(/^\d+(ms|s)$/, "a duration of Go's"),
    authorization: z.strictObject({
      type: z.string(),
      secretRef: z.strictObject({ name: z.string().min(1), namespace: z.string().min(1), key: z.string().min(1) }),
    }),
  }),
});
const CompositeController = z.strictObject({
  apiVersion: z.literal('metacontroller.k8s.io/v1alpha1'),
  kind: z.literal('CompositeController'),
  // Cluster-scoped.
  metadata: z.strictObject({ name: z.string(), labels: z.record(z.string(), z.string()) }),
  spec: z.strictObject({
    generateSelector: z.boolean(),
    resyncPeriodSeconds: z.int().min(1),
    parentResource: z.strictObject(resource),
    childResources: z.array(
      z.strictObject({
        ...resource,
        updateStrategy: z.strictObject({ method: z.enum(['OnDelete', 'Recreate', 'InPlace']) }),
      }),
    ),
    hooks: z.strictObject({ sync: hook, finalize: hook }),
  }),
});

const metacontroller = { ...external, controller: { framework: 'metacontroller' } };
let manifests: Manifest[];
let composite: z.output<typeof CompositeController>;
beforeAll(async () => {
  manifests = await render(metacontroller);
  composite = CompositeController.parse(ofKind(manifests, 'CompositeController')[0]);
});

describe('controller.framework=metacontroller', () => {
  it('has a CompositeController that updates the children of UserSwarms in place', () => {
    expect(composite.spec).toMatchObject({
      generateSelector: true,
      resyncPeriodSeconds: 30,
      parentResource: { apiVersion: 'uswarm.dev/v1alpha1', resource: 'userswarms' },
    });
    const kinds = composite.spec.childResources.map(
      ({ apiVersion, resource: plural }) => `${plural.replace(/s$/, '')}.${apiVersion}`,
    );
    expect(kinds).toEqual(CHILD_GROUPS.map((group) => group.toLowerCase()));
    // OnDelete, the default, never updates a child. Recreate deletes it for every change.
    expect(composite.spec.childResources.map(({ updateStrategy }) => updateStrategy.method)).toEqual([
      'InPlace',
      'InPlace',
      'InPlace',
    ]);
  });

  it('calls the webhook for sync and finalize with its token', () => {
    const { sync, finalize } = composite.spec.hooks;
    expect(finalize).toEqual(sync);
    expect(sync.version).toBe('v1');
    expect(sync.webhook.url).toBe('http://uswarm-webhook.backend.svc.cluster.local:8080/sync');
    const { secretRef, type } = sync.webhook.authorization;
    const { name, key, namespace } = secretRef;
    expect({ type, namespace }).toEqual({ type: 'Bearer', namespace: 'backend' });
    const token = container(manifests, 'uswarm-webhook', 'webhook').env!.find((each) => each.name === 'SYNC_TOKEN');
    expect(token?.valueFrom?.secretKeyRef).toEqual({ name, key });
  });

  it('omits the pod, Service and RBAC of the built-in controller', () => {
    const ours = manifests.filter(({ metadata }) => metadata.name.startsWith('uswarm-controller'));
    expect(ours).toEqual([]);
    expect(podTemplates(manifests).map(({ owner }) => owner)).not.toContain('uswarm-controller');
  });

  it('rolls changes out to runtimes immediately, without the rollout gate', async () => {
    const gate = (rendered: Manifest[]) =>
      container(rendered, 'uswarm-webhook', 'webhook').env?.find(({ name }) => name === 'ROLLOUT_GATE')?.value;
    expect(gate(manifests)).toBe('off');
    expect(gate(await render(external))).toBe('on');
  });

  it('never runs two configurations of the webhook concurrently', async () => {
    const strategy = (rendered: Manifest[]) => find(rendered, 'Deployment', 'uswarm-webhook')['spec'].strategy.type;
    expect(strategy(manifests)).toBe('Recreate');
    expect(strategy(await render(external))).toBe('RollingUpdate');
  });

  it('keeps the drain, which derives the finalizer from the name of the CompositeController', () => {
    expect(composite.metadata.name).toBe('userswarm-controller');
    expect(podTemplates(manifests).map(({ owner }) => owner)).toContain('uswarm-drain');
  });

  it('uses the resync period and the timeout of the controller values', async () => {
    const controller = { framework: 'metacontroller', resyncSeconds: 45, syncTimeoutMs: 2_500 };
    const [found] = ofKind(await render({ ...external, controller }), 'CompositeController');
    const { resyncPeriodSeconds, hooks } = CompositeController.parse(found).spec;
    expect({ resyncPeriodSeconds, timeout: hooks.sync.webhook.timeout }).toEqual({
      resyncPeriodSeconds: 45,
      timeout: '2500ms',
    });
  });

  it('requires no controller image if the drain is disabled', async () => {
    const { registry } = evaluation.images;
    const image = { image: { registry } };
    const each = { orchestrator: image, gateway: image, modelGateway: image, webhook: image, searxngClient: image };
    const values = merge(metacontroller, { ...each, images: { registry: '' }, runtime: image });
    expect(ofKind(await render({ ...values, drain: { enabled: false } }), 'CompositeController')).toHaveLength(1);
    await expect(render(values)).rejects.toThrow(/controller\.image\.registry/);
  });

  it('lists commands for troubleshooting in NOTES.txt', async () => {
    const notes = await helm(['install', '--dry-run=client'], metacontroller);
    expect(notes).toContain('kubectl describe compositecontroller userswarm-controller');
    expect(notes).not.toContain('deployment/uswarm-controller');
  });
});

it('the default framework is builtin, without a CompositeController', async () => {
  const builtin = await render(external);
  expect(ofKind(builtin, 'CompositeController')).toEqual([]);
  expect(podTemplates(builtin).map(({ owner }) => owner)).toContain('uswarm-controller');
});
