import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  connects,
  gatewayRuntime,
  leaves,
  type NetworkPod,
  podOf,
  policiesOf,
  PRIVATE,
  PUBLIC,
  runtime,
  runtimeWithoutDns,
} from './support/network-model.js';
import { container, evaluation, find, type Manifest, modelProvider, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const CLOSED = merge(
  { ...evaluation, ...modelProvider },
  {
    modelGateway: { clusterIP: '10.96.0.11' },
    searxngClient: { clusterIP: '10.96.0.12' },
    runtime: { dns: { enabled: false } },
  },
);
/** The cluster's server, and one on the internet. */
const DNS: NetworkPod = {
  name: 'kube-system/dns',
  namespace: 'kube-system',
  labels: { 'k8s-app': 'kube-dns' },
  ports: { dns: 53 },
};

describe('runtimes without DNS', () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await render(CLOSED);
  });

  it('reach no DNS server, but the model gateway and the search tool', () => {
    const policies = policiesOf(manifests);
    const pod = runtimeWithoutDns();
    expect(connects(policies, pod, DNS, 53)).toBe(false);
    expect([...PUBLIC, ...PRIVATE].filter((address) => leaves(policies, pod, address, 53))).toEqual([]);
    for (const name of ['uswarm-model-gateway', 'uswarm-searxng-client']) {
      expect(connects(policies, pod, podOf(manifests, name), 8080)).toBe(true);
    }
  });

  it('do not take DNS from runtimes that call a provider themselves or are not rolled out yet', () => {
    const policies = policiesOf(manifests);
    expect(connects(policies, runtime(), DNS, 53)).toBe(true);
    expect(connects(policies, gatewayRuntime(), DNS, 53)).toBe(true);
  });

  it('know the addresses of the Services, which have them', () => {
    const { env = [] } = container(manifests, 'uswarm-webhook', 'webhook');
    const value = (name: string): string => env.find((each) => each.name === name)?.value ?? '';
    const { hostAliases } = JSON.parse(value('RUNTIME_PODS')) as { hostAliases: { ip: string; hostnames: string[] }[] };
    const used = [value('MODEL_GATEWAY_URL'), value('SVC_MCP_ENDPOINT')].map((url) => new URL(url).hostname);
    expect(hostAliases.map(({ hostnames }) => hostnames)).toEqual(used.map((host) => [host]));
    for (const { ip, hostnames } of hostAliases) {
      expect(find(manifests, 'Service', hostnames[0]!.split('.')[0]!)['spec'].clusterIP).toBe(ip);
    }
  });

  it.each([
    [
      'without the address of the model gateway',
      { modelGateway: { clusterIP: '' } },
      /^modelGateway\.clusterIP is req/,
    ],
    [
      'without the address of the search tool',
      { searxngClient: { clusterIP: '' } },
      /^searxngClient\.clusterIP is req/,
    ],
    ['without the model gateway', { modelGateway: { openai: { enabled: false } } }, /a provider of modelGateway/],
    ['without network policies', { networkPolicy: { enabled: false } }, /requires networkPolicy\.enabled/],
    [
      'with the internet',
      { networkPolicy: { runtime: { egressAllowRules: { nonPrivateIPs: true } } } },
      /nonPrivateIPs=auto/,
    ],
    ['with the REST API', { networkPolicy: { runtime: { restApi: true } } }, /networkPolicy\.runtime\.restApi/],
    ['with a proxy', { runtime: { proxy: { https: 'http://proxy.test:3128' } } }, /excludes .*runtime\.proxy/],
    ['with a store', { runtime: { stores: { redis: { addr: 'redis.test:6379' } } } }, /excludes runtime\.stores/],
  ])('are refused %s', async (_what, changes, message) => {
    expect(await rejection(merge(CLOSED, changes))).toMatch(message);
  });
});

it('runtimes reach the DNS server of the cluster by default, and Kubernetes chooses the addresses of Services', async () => {
  const manifests = await render({ ...evaluation, ...modelProvider });
  expect(connects(policiesOf(manifests), runtimeWithoutDns(), DNS, 53)).toBe(true);
  for (const name of ['uswarm-model-gateway', 'uswarm-searxng-client']) {
    expect(find(manifests, 'Service', name)['spec']).not.toHaveProperty('clusterIP');
  }
});
