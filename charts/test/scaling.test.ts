import { describe, expect, it } from '@jest/globals';
import { evaluation, external, find, type Manifest, ofKind, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const SCALABLE = ['orchestrator', 'gateway', 'modelGateway', 'webhook', 'controller', 'searxngClient'];
const all = (value: object): object => Object.fromEntries(SCALABLE.map((name) => [name, value]));
const podSpec = (manifests: readonly Manifest[], name: string): Record<string, unknown> =>
  find(manifests, 'Deployment', name)['spec'].template.spec;

describe('a component with two replicas', () => {
  it('has a budget that allows one unavailable pod and ignores unhealthy pods', async () => {
    const budgets = ofKind(await render(merge(external, all({ replicas: 2 }))), 'PodDisruptionBudget');
    expect(budgets).toHaveLength(SCALABLE.length);
    const many = await render(merge(external, all({ replicas: 2 })));
    for (const { metadata, spec } of budgets) {
      expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
      const { matchLabels } = find(many, 'Deployment', metadata.name)['spec'].selector;
      expect(spec.selector.matchLabels).toEqual(matchLabels);
    }
  });

  it('prefers different nodes and zones', async () => {
    const many = await render(merge(external, all({ replicas: 2 })));
    for (const { metadata, spec } of ofKind(many, 'Deployment').filter(({ spec: { replicas } }) => replicas > 1)) {
      const { topologySpreadConstraints, affinity } = spec.template.spec;
      const labelSelector = { matchLabels: spec.selector.matchLabels };
      expect({ name: metadata.name, topologySpreadConstraints }).toEqual({
        name: metadata.name,
        topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector,
          matchLabelKeys: ['pod-template-hash'],
        })),
      });
      expect(affinity).toEqual({
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 100, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector } },
          ],
        },
      });
    }
  });

  it('accepts custom affinity, spread constraints and budgets', async () => {
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
    const constraint = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
    const manifests = await render({
      ...external,
      defaults: { affinity: { nodeAffinity } },
      gateway: { replicas: 2, affinity: { podAntiAffinity: {} }, topologySpreadConstraints: [constraint] },
      controller: { replicas: 2, podDisruptionBudget: { enabled: false } },
      searxngClient: { replicas: 2, podDisruptionBudget: { maxUnavailable: '50%' } },
    });
    expect(podSpec(manifests, 'uswarm-realtime-gateway')).toMatchObject({
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [constraint],
    });
    expect(podSpec(manifests, 'uswarm-controller')['affinity']).toMatchObject({
      nodeAffinity,
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100 }] },
    });
    expect(podSpec(manifests, 'uswarm-orchestrator')['affinity']).toEqual({ nodeAffinity });
    const budgets = ofKind(manifests, 'PodDisruptionBudget');
    expect(Object.fromEntries(budgets.map(({ metadata, spec }) => [metadata.name, spec.maxUnavailable]))).toEqual({
      'uswarm-model-gateway': 1,
      'uswarm-realtime-gateway': 1,
      'uswarm-searxng-client': '50%',
      'uswarm-webhook': 1,
    });
  });
});

describe('a component with one replica', () => {
  it('does not block node drains', async () => {
    const manifests = await render({ ...evaluation, webhook: { replicas: 1 } });
    expect(ofKind(manifests, 'PodDisruptionBudget')).toEqual([]);
    for (const { spec } of ofKind(manifests, 'Deployment')) {
      expect(spec.template.spec).not.toHaveProperty('topologySpreadConstraints');
      expect(spec.template.spec).not.toHaveProperty('affinity');
    }
  });

  it.each([0, '0%', '0'])('cannot have a budget that forbids every node drain (%s)', async (maxUnavailable) => {
    const values = { ...external, gateway: { replicas: 2, podDisruptionBudget: { maxUnavailable } } };
    expect(await rejection(values)).toContain("at '/gateway/podDisruptionBudget/maxUnavailable'");
  });
});

describe('autoscaling', () => {
  const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 7, targetCPUUtilizationPercentage: 50 };

  it.each([
    ['orchestrator', 'uswarm-orchestrator'],
    ['gateway', 'uswarm-realtime-gateway'],
    ['modelGateway', 'uswarm-model-gateway'],
  ])('controls the replicas of %s', async (component, name) => {
    const manifests = await render(merge(external, { [component]: { replicas: 5, autoscaling } }));
    expect(find(manifests, 'Deployment', name)['spec']).not.toHaveProperty('replicas');
    expect(ofKind(manifests, 'HorizontalPodAutoscaler').map(({ metadata }) => metadata.name)).toEqual([name]);
    expect(find(manifests, 'HorizontalPodAutoscaler', name, 'backend')['spec']).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      minReplicas: 3,
      maxReplicas: 7,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    });
    const budgets = ofKind(manifests, 'PodDisruptionBudget').map(({ metadata }) => metadata.name);
    expect(budgets.toSorted()).toEqual([...new Set(['uswarm-model-gateway', name, 'uswarm-webhook'])].toSorted());
    expect(podSpec(manifests, name)['topologySpreadConstraints']).toHaveLength(2);
  });

  it('scales down slowly', async () => {
    const scaleDown = { stabilizationSeconds: 60, periodSeconds: 30 };
    const gateway = { autoscaling: { enabled: true } };
    const orchestrator = { autoscaling: { enabled: true, scaleDown } };
    const manifests = await render({ ...external, gateway, orchestrator });
    const behaviour = (name: string): object =>
      find(manifests, 'HorizontalPodAutoscaler', name)['spec'].behavior.scaleDown;
    const one = (periodSeconds: number): object[] => [{ type: 'Pods', value: 1, periodSeconds }];
    expect(behaviour('uswarm-realtime-gateway')).toEqual({ stabilizationWindowSeconds: 600, policies: one(300) });
    expect(behaviour('uswarm-orchestrator')).toEqual({ stabilizationWindowSeconds: 60, policies: one(30) });
  });

  it('is disabled by default', async () => {
    expect(ofKind(await render(external), 'HorizontalPodAutoscaler')).toEqual([]);
  });

  it.each<[object, string]>([
    [
      { autoscaling: { ...autoscaling, minReplicas: 8 } },
      'gateway.autoscaling.minReplicas must not exceed maxReplicas.',
    ],
    [
      { autoscaling, resources: { requests: { cpu: null } } },
      'gateway.resources.requests.cpu is required: the target of gateway.autoscaling is a percentage of it.',
    ],
  ])('rejects values that cannot work: %j', async (gateway, sentence) => {
    expect((await rejection({ ...external, gateway })).trim()).toBe(sentence);
  });
});
