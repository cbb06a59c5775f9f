import { describe, expect, it } from '@jest/globals';
import { parseQuantity } from '@uswarm/contract/userswarm';
import { childLabels, runtimePods } from '@uswarm/webhook';
import { leaves, policiesOf } from './support/network-model.js';
import { referencesOf } from './support/references.js';
import {
  container,
  environmentOf,
  evaluation,
  external,
  find,
  type Manifest,
  ofKind,
  podTemplates,
  rejection,
  render,
  repositoryFile,
} from './support/rendering.js';
import { merge } from './support/value-paths.js';

const runtimePod = {
  name: 'userswarms/runtime',
  namespace: 'userswarms',
  labels: childLabels('workspace-a'),
  ports: { grpc: 42_618 },
};

/** Runtime pod settings in the webhook's environment. */
function podSettings(manifests: readonly Manifest[]): ReturnType<typeof runtimePods.parse> {
  const { env = [] } = container(manifests, 'uswarm-webhook', 'webhook');
  return runtimePods.parse(JSON.parse(env.find(({ name }) => name === 'RUNTIME_PODS')!.value!));
}

describe('a runtime without resources in its spec', () => {
  it('has requests and limits of CPU, memory and ephemeral storage', async () => {
    const { requests, limits } = podSettings(await render(evaluation)).resources;
    expect(limits).toEqual({ cpu: '1', memory: '512Mi', 'ephemeral-storage': '1Gi' });
    expect(Object.keys(requests!).toSorted()).toEqual(Object.keys(limits!).toSorted());
  });
});

it('resources of runtimes can be numbers, as YAML parses them without quotes', async () => {
  const resources = { requests: { cpu: 0.25 }, limits: { cpu: 2, memory: 1_073_741_824 } };
  const settings = podSettings(await render(merge(evaluation, { runtime: { pods: { resources } } })));
  expect(settings.resources).toMatchObject({
    requests: { cpu: '250m', memory: '64Mi' },
    limits: { cpu: '2', memory: '1073741824' },
  });
});

describe('the maximum resources of a UserSwarm', () => {
  it('are in the policy lists by default and are validated', async () => {
    const manifests = await render(evaluation);
    expect(find(manifests, 'ConfigMap', 'uswarm-policy')['data']).toMatchObject({ maxCpu: '8', maxMemory: '16Gi' });
    const { validations } = find(manifests, 'ValidatingAdmissionPolicy', 'uswarm-policy')['spec'];
    const judged = (validations as { expression: string }[]).map(({ expression }) => expression).join('\n');
    for (const field of ['requests.?cpu', 'requests.?memory', 'limits.?cpu', 'limits.?memory'])
      expect(judged).toContain(`spec.?runtime.?resources.?${field}`);
  });

  it('can be changed and disabled, and must be quantities', async () => {
    const lists = async (maxResources: object): Promise<object> =>
      find(await render(merge(evaluation, { runtime: { maxResources } })), 'ConfigMap', 'uswarm-policy')['data'];
    expect(await lists({ cpu: '500m', memory: '' })).toMatchObject({ maxCpu: '500m', maxMemory: '' });
    expect(await rejection(merge(evaluation, { runtime: { maxResources: { cpu: 'many' } } }))).toContain(
      '/runtime/maxResources/cpu',
    );
  });
});

describe('quotas of the runtime namespace', () => {
  it('are not created by default', async () => {
    const manifests = await render(evaluation);
    expect([...ofKind(manifests, 'ResourceQuota'), ...ofKind(manifests, 'LimitRange')]).toEqual([]);
  });

  it('match the number of runtimes in the production example', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const { hard } = find(manifests, 'ResourceQuota', 'uswarm-runtimes', 'userswarms')['spec'] as {
      hard: Record<string, string>;
    };
    const { requests } = podSettings(manifests).resources;
    const runtimes = ['cpu', 'memory'].map(
      (name) => parseQuantity(hard[`requests.${name}`]!)!.milli / parseQuantity(requests![name]!)!.milli,
    );
    expect(runtimes).toEqual([BigInt(hard['pods']!), BigInt(hard['pods']!)]);
  });

  it('have the configured limits, only in that namespace', async () => {
    const hard = { pods: '500', 'requests.cpu': '25' };
    const limitRange = { default: { cpu: '1' }, max: { cpu: '4', memory: '8Gi' } };
    const runtime = { namespace: 'agents', extraNamespaces: ['team-a'], resourceQuota: { hard }, limitRange };
    const manifests = await render(merge(evaluation, { runtime }));
    expect(ofKind(manifests, 'ResourceQuota')).toHaveLength(1);
    expect(find(manifests, 'ResourceQuota', 'uswarm-runtimes', 'agents')['spec']).toEqual({ hard });
    expect(ofKind(manifests, 'LimitRange')).toHaveLength(1);
    expect(find(manifests, 'LimitRange', 'uswarm-runtimes', 'agents')['spec'].limits).toEqual([
      { type: 'Container', ...limitRange },
    ]);
  });
});

describe('outbound connections of a runtime', () => {
  it('use no proxy and no private certificate authority by default', async () => {
    const { proxy, trustedCA, secretRevision } = podSettings(await render(evaluation));
    expect({ proxy, trustedCA, secretRevision }).toEqual({});
  });

  it('use the configured proxy except for cluster names', async () => {
    const proxy = { https: 'http://proxy.example.com:3128', noProxy: ['models.example.com'] };
    const manifests = await render({ ...evaluation, clusterDomain: 'cluster.example', runtime: { proxy } });
    const { noProxy, ...urls } = podSettings(manifests).proxy!;
    expect(urls).toEqual({ https: proxy.https });
    expect(noProxy.split(',')).toEqual([
      'localhost',
      '127.0.0.1',
      '::1',
      '.svc',
      '.cluster.example',
      'models.example.com',
    ]);
    const env = environmentOf(manifests, container(manifests, 'uswarm-webhook', 'webhook'));
    for (const name of ['SVC_MCP_ENDPOINT', 'SVC_ORCHESTRATOR_ENDPOINT'])
      expect(new URL(env[name]!).hostname).toMatch(/\.cluster\.example$/);
    expect(leaves(policiesOf(manifests), runtimePod, '203.0.113.1', 3128)).toBe(true);
  });

  it('cannot use a proxy URL with a password', async () => {
    const proxy = { https: 'http://user:password@proxy.example.com' };
    expect(await rejection(merge(evaluation, { runtime: { proxy } }))).toContain('/runtime/proxy/https');
  });

  it('trust the certificates of the configured ConfigMap', async () => {
    const manifests = await render({
      ...evaluation,
      runtime: { trustedCA: { existingConfigMap: 'ca', key: 'a.pem' } },
    });
    expect(podSettings(manifests).trustedCA).toEqual({ configMap: 'ca', key: 'a.pem' });
    expect(referencesOf(manifests)).toContain('ConfigMap userswarms/ca a.pem');
  });
});

it('runtime.secretRevision is passed to the webhook', async () => {
  const revisionOf = async (secretRevision: string): Promise<string | undefined> =>
    podSettings(await render({ ...evaluation, runtime: { secretRevision } })).secretRevision;
  expect(await revisionOf('2026-11-22')).toBe('2026-11-22');
  expect(await revisionOf('3')).toBe('3');
});

describe('termination and eviction', () => {
  const LOCAL = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';

  it('have a grace period of two minutes and do not block node removal for a runtime', async () => {
    const { terminationGracePeriodSeconds, annotations } = podSettings(await render(evaluation));
    expect(terminationGracePeriodSeconds).toBe(120);
    expect(annotations).toEqual({ [LOCAL]: 'cache,tmp' });
    const values = { terminationGracePeriodSeconds: 30, pods: { annotations: { a: 'b' } } };
    const settings = podSettings(await render({ ...evaluation, runtime: values }));
    expect(settings.terminationGracePeriodSeconds).toBe(30);
    expect(settings.annotations).toEqual({ [LOCAL]: 'cache,tmp', a: 'b' });
  });

  it('do not block node removal for a service unless its pod stores data', async () => {
    const holding = async (values: object): Promise<string[]> =>
      podTemplates(await render(values))
        .filter(({ hook }) => hook === undefined)
        .filter(({ annotations, spec }) => {
          const volumes = (spec.volumes ?? []) as { name: string; emptyDir?: { medium?: string } }[];
          const local = volumes.filter(({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== 'Memory');
          return !local.every(({ name }) => (annotations[LOCAL] ?? '').split(',').includes(name));
        })
        .map(({ owner }) => owner)
        .toSorted();
    expect(await holding(external)).toEqual([]);
    expect(
      await holding({ ...evaluation, evaluation: { enabled: true, postgres: { persistence: { enabled: false } } } }),
    ).toEqual(['uswarm-orchestrator', 'uswarm-postgres', 'uswarm-valkey']);
  });

  it('keep a configured annotation', async () => {
    const manifests = await render({ ...evaluation, gateway: { podAnnotations: { [LOCAL]: 'none' } } });
    const pod = podTemplates(manifests).find(({ owner }) => owner === 'uswarm-realtime-gateway')!;
    expect(pod.annotations[LOCAL]).toBe('none');
  });
});
