import { describe, expect, it } from '@jest/globals';
import { runtimePods } from '../../services/uswarm-webhook/src/config/runtime-pods.js';
import { parseQuantity } from '../../services/uswarm-webhook/src/render/quantity.js';
import { childLabels } from '../../services/uswarm-webhook/src/render/labels.js';
import { leaves, policiesOf } from './network-model.js';
import { referencesOf } from './references.js';
import {
  container,
  environmentOf,
  evaluation,
  external,
  find,
  type Manifest,
  ofKind,
  podTemplates,
  refusal,
  render,
  repositoryFile,
} from './rendering.js';
import { merge } from './value-paths.js';

const runtimePod = {
  name: 'userswarms/runtime',
  namespace: 'userswarms',
  labels: childLabels('workspace-a'),
  ports: { grpc: 42_618 },
};

/** What the webhook is told of runtime pods. */
function toldOfPods(manifests: readonly Manifest[]): ReturnType<typeof runtimePods.parse> {
  const { env = [] } = container(manifests, 'uswarm-webhook', 'webhook');
  return runtimePods.parse(JSON.parse(env.find(({ name }) => name === 'RUNTIME_PODS')!.value!));
}

describe('a runtime that names no resources', () => {
  it('has limits of CPU, memory and disk, and requests below them', async () => {
    const { requests, limits } = toldOfPods(await render(evaluation)).resources;
    expect(limits).toEqual({ cpu: '1', memory: '512Mi', 'ephemeral-storage': '1Gi' });
    expect(Object.keys(requests!).toSorted()).toEqual(Object.keys(limits!).toSorted());
  });
});

describe('the maximum of a UserSwarm', () => {
  it('is in the lists of the policy by default, and refuses 64 cores', async () => {
    const manifests = await render(evaluation);
    expect(find(manifests, 'ConfigMap', 'uswarm-policy')['data']).toMatchObject({ maxCpu: '8', maxMemory: '16Gi' });
    const { validations } = find(manifests, 'ValidatingAdmissionPolicy', 'uswarm-policy')['spec'];
    const judged = (validations as { expression: string }[]).map(({ expression }) => expression).join('\n');
    for (const field of ['requests.?cpu', 'requests.?memory', 'limits.?cpu', 'limits.?memory'])
      expect(judged).toContain(`spec.?runtime.?resources.?${field}`);
  });

  it('can be changed and removed, and is a quantity', async () => {
    const lists = async (maxResources: object): Promise<object> =>
      find(await render(merge(evaluation, { runtime: { maxResources } })), 'ConfigMap', 'uswarm-policy')['data'];
    expect(await lists({ cpu: '500m', memory: '' })).toMatchObject({ maxCpu: '500m', maxMemory: '' });
    expect(await refusal(merge(evaluation, { runtime: { maxResources: { cpu: 'many' } } }))).toContain(
      '/runtime/maxResources/cpu',
    );
  });
});

describe('quotas of the runtime namespace', () => {
  it('are not made unless values say so', async () => {
    const manifests = await render(evaluation);
    expect([...ofKind(manifests, 'ResourceQuota'), ...ofKind(manifests, 'LimitRange')]).toEqual([]);
  });

  it('of the example for production have room for exactly the runtimes that they count', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const { hard } = find(manifests, 'ResourceQuota', 'uswarm-runtimes', 'userswarms')['spec'] as {
      hard: Record<string, string>;
    };
    const { requests } = toldOfPods(manifests).resources;
    const runtimes = ['cpu', 'memory'].map(
      (name) => parseQuantity(hard[`requests.${name}`]!)!.milli / parseQuantity(requests![name]!)!.milli,
    );
    expect(runtimes).toEqual([BigInt(hard['pods']!), BigInt(hard['pods']!)]);
  });

  it('hold what values say, in that namespace alone', async () => {
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

describe('what leads out of a runtime', () => {
  it('is no proxy and no certificate authority of its own by default', async () => {
    const told = toldOfPods(await render(evaluation));
    expect([told.proxy, told.trustedCA, told.secretRevision]).toEqual([undefined, undefined, undefined]);
  });

  it('is the proxy of the values, except for what is in the cluster', async () => {
    const proxy = { https: 'http://proxy.example.com:3128', noProxy: ['models.example.com'] };
    const manifests = await render({ ...evaluation, clusterDomain: 'cluster.example', runtime: { proxy } });
    const { noProxy, ...urls } = toldOfPods(manifests).proxy!;
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

  it('refuses a password in the URL of a proxy', async () => {
    const proxy = { https: 'http://user:password@proxy.example.com' };
    expect(await refusal(merge(evaluation, { runtime: { proxy } }))).toContain('/runtime/proxy/https');
  });

  it('trusts the ConfigMap of the values', async () => {
    const manifests = await render({
      ...evaluation,
      runtime: { trustedCA: { existingConfigMap: 'ca', key: 'a.pem' } },
    });
    expect(toldOfPods(manifests).trustedCA).toEqual({ configMap: 'ca', key: 'a.pem' });
    expect(referencesOf(manifests)).toContain('ConfigMap userswarms/ca a.pem');
  });
});

it('a changed revision of Secrets reaches the webhook, which restarts for it', async () => {
  const told = async (secretRevision: string): Promise<string | undefined> =>
    toldOfPods(await render({ ...evaluation, runtime: { secretRevision } })).secretRevision;
  expect([await told('2026-11-22'), await told('3')]).toEqual(['2026-11-22', '3']);
});

describe('a pod that goes', () => {
  const LOCAL = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';

  it('of a runtime has two minutes, and does not keep its node from being removed', async () => {
    const { terminationGracePeriodSeconds, annotations } = toldOfPods(await render(evaluation));
    expect(terminationGracePeriodSeconds).toBe(120);
    expect(annotations).toEqual({ [LOCAL]: 'cache,tmp' });
    const values = { terminationGracePeriodSeconds: 30, pods: { annotations: { a: 'b' } } };
    const told = toldOfPods(await render({ ...evaluation, runtime: values }));
    expect(told.terminationGracePeriodSeconds).toBe(30);
    expect(told.annotations).toEqual({ [LOCAL]: 'cache,tmp', a: 'b' });
  });

  it('of a service does not keep its node from being removed, unless it holds data', async () => {
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

  it('keeps an annotation of the values', async () => {
    const manifests = await render({ ...evaluation, gateway: { podAnnotations: { [LOCAL]: 'none' } } });
    const pod = podTemplates(manifests).find(({ owner }) => owner === 'uswarm-realtime-gateway')!;
    expect(pod.annotations[LOCAL]).toBe('none');
  });
});
