import { ROLLOUT, START, START_QUEUED, type SyncRequest } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import fc from 'fast-check';
import { runtimePods } from '../src/config/runtime-pods.js';
import type { RenderSettings } from '../src/render/settings.js';
import { pod, settledRequest, testSettings, userSwarm } from './webhook-input.js';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const amount = fc.constantFrom('0.5', '1000m', '250m', '2', '1024Mi', '1Gi', '1.5Gi', '100M', '1e3', 'rubbish');
const amounts = fc.record({ cpu: amount, memory: amount }, { requiredKeys: [] });

/** Valid specs, and specs that policy or validation rejects. */
export const specs = fc.record(
  {
    userId: fc.string({ minLength: 1, maxLength: 128 }),
    placement: fc.record({ runtimeNamespace: fc.constantFrom('userswarms', 'userswarms-spare', 'kube-system') }),
    runtime: fc.record(
      {
        image: fc.constantFrom('', 'registry.test/runtime:1', 'registry.test/own:2', 'elsewhere.test/x:1'),
        port: fc.integer({ min: 1, max: 65_535 }),
        resources: fc.record({ requests: amounts, limits: amounts }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ),
    config: fc.record(
      {
        defaultProvider: fc.constantFrom('demo', 'openai', 'unknown'),
        defaultModel: fc.string({ minLength: 1, maxLength: 253 }),
        envSecretRef: fc.record({ name: fc.constantFrom('workspace-a-env', 'uswarm-model-env', 'stolen-env') }),
      },
      { requiredKeys: [] },
    ),
    suspend: fc.boolean(),
  },
  { requiredKeys: ['userId'] },
);

const texts = fc.dictionary(label, label, { maxKeys: 3 });

export const settings: fc.Arbitrary<RenderSettings> = fc
  .record({
    stores: fc.subarray([
      { name: 'SVC_DATABASE_HOST', value: 'db.test' },
      { name: 'SVC_DATABASE_PASSWORD' },
      { name: 'SVC_REDIS_ADDR', value: 'valkey.test:6379' },
      { name: 'SVC_SPACES_SECRET' },
    ]),
    pods: fc
      .record({
        imagePullSecrets: fc.array(fc.record({ name: label }), { maxLength: 2 }),
        nodeSelector: texts,
        priorityClassName: fc.oneof(fc.constant(''), label),
        labels: texts,
        annotations: texts,
        resources: fc.record({ limits: fc.constantFrom({}, { memory: '512Mi' }, { cpu: '0.5', memory: '1024Mi' }) }),
        tolerations: fc.array(fc.record({ key: label, operator: fc.constant('Exists') }), { maxLength: 2 }),
      })
      .map((pods) => runtimePods.parse(pods)),
  })
  .map((overrides) => testSettings(overrides));

const waiting = fc.constantFrom(
  'ContainerCreating',
  'ImagePullBackOff',
  'ErrImagePull',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'SomethingNew',
);
const container = fc.oneof(
  fc.record({ state: fc.record({ waiting: fc.record({ reason: waiting, message: fc.string() }) }) }),
  fc.record({
    ready: fc.boolean(),
    restartCount: fc.nat(5),
    state: fc.constant({ running: {} }),
    lastState: fc.constantFrom({}, { terminated: { reason: 'OOMKilled', exitCode: 137 } }),
  }),
);
const counts = fc.record(
  { observedGeneration: fc.nat(3), replicas: fc.nat(2), updatedReplicas: fc.nat(2), readyReplicas: fc.nat(2) },
  { requiredKeys: [] },
);
const deployment = fc
  .tuple(
    counts,
    fc.subarray([
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' },
      { type: 'ReplicaFailure', status: 'True', message: 'pods "x" is forbidden: exceeded quota: q' },
      { type: 'Available', status: 'False' },
    ]),
  )
  .map(([status, conditions]) => ({ ...status, conditions }));

const synced = fc
  .record({
    status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
    reason: fc.constantFrom('Synced', 'NameConflict', 'QuotaExceeded', 'WebhookUnavailable', 'SomethingNew'),
  })
  .map(({ status, reason }) => ({
    type: 'Synced' as const,
    status,
    reason,
    message: '',
    lastTransitionTime: '2029-12-31T00:00:00Z',
  }));

/** Any request that a controller can send: any subset of children, in any state, terminating or foreign. */
export const requests: fc.Arbitrary<Promise<SyncRequest>> = fc
  .record({
    spec: specs,
    deployment,
    pods: fc.array(container, { maxLength: 2 }),
    namespaces: fc.subarray(['userswarms', 'userswarms-spare']),
    conditions: fc.array(synced, { maxLength: 1 }),
    missing: fc.subarray(['ServiceAccount.v1', 'Service.v1', 'Deployment.apps/v1'] as const),
    childState: fc.constantFrom('normal', 'terminating', 'foreign'),
    related: fc.boolean(),
    finalizing: fc.boolean(),
    annotations: fc.constantFrom({}, { [START]: START_QUEUED }, { [ROLLOUT.forced]: 'true' }),
  })
  .map(async ({ spec, missing, childState, related, finalizing, annotations, pods, ...world }) => {
    // The children are rendered from a valid spec, because an invalid spec has none.
    const valid = userSwarm({ ...spec, placement: {}, runtime: {}, config: {} });
    const settled = await settledRequest(valid, { ...world, pods: pods.map((status) => pod(status)) });
    for (const group of missing) settled.children[group] = {};
    const children = Object.values(settled.children).flatMap((group) => Object.values(group));
    if (childState === 'terminating')
      for (const child of children) child.metadata.deletionTimestamp = '2030-01-01T00:00:00Z';
    if (childState === 'foreign') for (const child of children) delete child.metadata.ownerReferences;
    const metadata = { ...settled.parent.metadata, annotations };
    const parent = { ...settled.parent, metadata, spec: userSwarm(spec).spec };
    return { ...settled, parent, finalizing, ...(related ? {} : { related: {} }) };
  });

export const ownChildren = (request: SyncRequest): KubernetesObject[] =>
  Object.values(request.children)
    .flatMap((group) => Object.values(group))
    .filter(({ metadata }) => metadata.ownerReferences !== undefined);
