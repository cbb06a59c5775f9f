import { describe, expect, it } from '@jest/globals';
import { evaluation, external, find, type Manifest, ofKind, refusal, render } from './rendering.js';

const SCALABLE = ['orchestrator', 'gateway', 'webhook', 'controller', 'searxngClient'];
const all = (value: object): object => Object.fromEntries(SCALABLE.map((name) => [name, value]));
const podSpec = (manifests: readonly Manifest[], name: string): Record<string, unknown> =>
  find(manifests, 'Deployment', name)['spec'].template.spec;

describe('of a component with two replicas', () => {
  it('drains take one pod at a time, and never wait for one that is broken', async () => {
    const budgets = ofKind(await render({ ...external, ...all({ replicas: 2 }) }), 'PodDisruptionBudget');
    expect(budgets).toHaveLength(SCALABLE.length);
    const many = await render({ ...external, ...all({ replicas: 2 }) });
    for (const { metadata, spec } of budgets) {
      expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
      const { matchLabels } = find(many, 'Deployment', metadata.name)['spec'].selector;
      expect(spec.selector.matchLabels).toEqual(matchLabels);
    }
  });

  it('pods keep away from each other where they can, by node and by zone', async () => {
    const many = await render({ ...external, ...all({ replicas: 2 }) });
    for (const { metadata, spec } of ofKind(many, 'Deployment').filter(({ spec: { replicas } }) => replicas > 1)) {
      const { topologySpreadConstraints, affinity } = spec.template.spec;
      const labelSelector = { matchLabels: spec.selector.matchLabels };
      expect([metadata.name, topologySpreadConstraints]).toEqual([
        metadata.name,
        ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector,
          matchLabelKeys: ['pod-template-hash'],
        })),
      ]);
      expect(affinity).toEqual({
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 100, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector } },
          ],
        },
      });
    }
  });

  it('both can be as somebody else wants them', async () => {
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
      'uswarm-realtime-gateway': 1,
      'uswarm-searxng-client': '50%',
      'uswarm-webhook': 1,
    });
  });
});

describe('of a component with one replica', () => {
  it('nothing stops a drain, which could never move it otherwise', async () => {
    const manifests = await render({ ...evaluation, webhook: { replicas: 1 } });
    expect(ofKind(manifests, 'PodDisruptionBudget')).toEqual([]);
    for (const { spec } of ofKind(manifests, 'Deployment')) {
      expect(spec.template.spec).not.toHaveProperty('topologySpreadConstraints');
      expect(spec.template.spec).not.toHaveProperty('affinity');
    }
  });

  it.each([0, '0%', '0'])('and no budget may forbid every drain (%s)', async (maxUnavailable) => {
    const values = { ...external, gateway: { replicas: 2, podDisruptionBudget: { maxUnavailable } } };
    expect(await refusal(values)).toContain("at '/gateway/podDisruptionBudget/maxUnavailable'");
  });
});

describe('autoscaling', () => {
  const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 7, targetCPUUtilizationPercentage: 50 };

  it.each([
    ['orchestrator', 'uswarm-orchestrator'],
    ['gateway', 'uswarm-realtime-gateway'],
  ])('of %s has the last word on its replicas', async (component, name) => {
    const manifests = await render({ ...external, [component]: { replicas: 5, autoscaling } });
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
    expect(budgets.toSorted()).toEqual([name, 'uswarm-webhook'].toSorted());
    expect(podSpec(manifests, name)['topologySpreadConstraints']).toHaveLength(2);
  });

  it('takes pods away slowly: each holds sockets, or replies under way', async () => {
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

  it('is off unless it is wanted', async () => {
    expect(ofKind(await render(external), 'HorizontalPodAutoscaler')).toEqual([]);
  });

  it.each<[object, string]>([
    [{ autoscaling: { ...autoscaling, minReplicas: 8 } }, 'gateway.autoscaling.minReplicas is above its maxReplicas.'],
    [
      { autoscaling, resources: { requests: { cpu: null } } },
      'Not set: gateway.resources.requests.cpu; the target of gateway.autoscaling is a share of it.',
    ],
  ])('is refused where it cannot work: %j', async (gateway, sentence) => {
    expect((await refusal({ ...external, gateway })).trim()).toBe(sentence);
  });
});
