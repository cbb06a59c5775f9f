import { describe, expect, it } from '@jest/globals';
import type { SyncRequest } from '@uswarm/contract/userswarm';
import { golden } from '../test/golden.js';
import { pod, settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../test/webhook-input.js';
import { runtimePods } from './config/runtime-pods.js';
import { render } from './render/render.js';

const allSettings = testSettings({
  stores: [
    { name: 'SVC_DATABASE_HOST', value: 'db.test' },
    { name: 'SVC_DATABASE_PORT', value: '5432' },
    { name: 'SVC_DATABASE_NAME', value: 'runtimes' },
    { name: 'SVC_DATABASE_USER', value: 'runtime' },
    { name: 'SVC_DATABASE_PASSWORD' },
    { name: 'SVC_DATABASE_SSLMODE', value: 'verify-full' },
    { name: 'SVC_REDIS_ADDR', value: 'valkey.test:6379' },
  ],
  pods: runtimePods.parse({
    imagePullSecrets: [{ name: 'pull' }],
    nodeSelector: { pool: 'runtimes' },
    tolerations: [{ key: 'runtimes', operator: 'Exists', effect: 'NoSchedule' }],
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
    ],
    affinity: { podAntiAffinity: {} },
    priorityClassName: 'runtimes',
    runtimeClassName: 'gvisor',
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    labels: { team: 'agents' },
    annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' },
    extraEnv: [{ name: 'TZ', value: 'UTC' }],
    terminationGracePeriodSeconds: 120,
    trustedCA: { configMap: 'company-ca', key: 'root.pem' },
    proxy: { https: 'http://proxy.test:3128', noProxy: '.svc' },
    secretRevision: '2',
  }),
});

const allFields = userSwarm({
  placement: { runtimeNamespace: 'userswarms-spare' },
  runtime: { image: 'registry.test/runtime:2', port: 5000, resources: { limits: { cpu: '1000m', memory: '1024Mi' } } },
  config: { defaultProvider: 'openai', defaultModel: 'some-model', envSecretRef: { name: 'workspace-a-env' } },
});

const backOff = pod({ state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } } });
const NOT_READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };

const CASES: Record<string, { settings?: typeof allSettings; request: () => Promise<SyncRequest> | SyncRequest }> = {
  created: { request: () => syncRequest(userSwarm()) },
  'created-with-everything': { settings: allSettings, request: () => syncRequest(allFields) },
  ready: { request: () => settledRequest(userSwarm()) },
  suspended: { request: () => settledRequest(userSwarm({ suspend: true })) },
  'image-pull-back-off': { request: () => settledRequest(userSwarm(), { deployment: NOT_READY, pods: [backOff] }) },
  'policy-denied': {
    settings: testSettings({ policy: { ...testSettings().policy, runtimeNamespaces: new Set(['elsewhere']) } }),
    request: () => settledRequest(userSwarm()),
  },
  deleting: { request: async () => ({ ...(await settledRequest(userSwarm())), finalizing: true }) },
  deleted: { request: () => ({ ...syncRequest(userSwarm()), finalizing: true }) },
};

describe('golden responses', () => {
  it.each(Object.keys(CASES))('the response equals golden file %s (UPDATE_GOLDEN=1 updates it)', async (name) => {
    const { settings = testSettings(), request } = CASES[name]!;
    const response = render(await request(), settings, await testFacts());
    expect(JSON.stringify(response)).toBe(golden(name, response));
  });

  it('the Deployment selector has exactly two labels, because it is immutable', async () => {
    const { children } = render(syncRequest(userSwarm()), testSettings(), await testFacts());
    expect(children[2]).toMatchObject({
      kind: 'Deployment',
      spec: {
        selector: {
          matchLabels: { 'app.kubernetes.io/name': 'agent-runtime', 'app.kubernetes.io/instance': 'workspace-a' },
        },
      },
    });
    const { selector } = children[2]!['spec'] as { selector: { matchLabels: object } };
    expect(Object.keys(selector.matchLabels)).toHaveLength(2);
  });
});
