import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { leaves, type NetworkPod, podOf, policiesOf } from './support/network-model.js';
import { container, evaluation, find, type Manifest, modelProvider, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const PROXY = 'http://proxy.example.com:3128';
const VALUES = merge(
  { ...evaluation, ...modelProvider },
  {
    clusterDomain: 'cluster.example',
    proxy: { https: PROXY, http: 'http://10.9.8.7:3129', noProxy: ['.corp.example'] },
    networkPolicy: {
      clusterRanges: ['203.0.113.0/24'],
      // The API server is on the same port as the web.
      apiServer: { to: [{ ipBlock: { cidr: '10.96.0.1/32' } }] },
    },
  },
);
const USERS = [
  ['uswarm-orchestrator', 'orchestrator'],
  ['uswarm-model-gateway', 'model-gateway'],
  ['uswarm-searxng-client', 'searxng-client'],
] as const;

/** Without those from Secrets. */
const variablesOf = (manifests: readonly Manifest[], deployment: string, name: string) =>
  Object.fromEntries((container(manifests, deployment, name).env ?? []).map((each) => [each.name, each.value]));

describe('the proxy of services', () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await render(VALUES);
  });

  it.each(USERS)('is set for %s, except for the cluster', (deployment, name) => {
    const env = variablesOf(manifests, deployment, name);
    expect(env).toMatchObject({ HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://10.9.8.7:3129' });
    const direct = ['localhost', '$(KUBERNETES_SERVICE_HOST)', '.svc', '.cluster.example', 'uswarm-orchestrator'];
    expect(env['NO_PROXY']?.split(',')).toEqual(expect.arrayContaining([...direct, '203.0.113.0/24', '.corp.example']));
  });

  it('is set for SearXNG in its settings', () => {
    const { outgoing } = parse(find(manifests, 'ConfigMap', 'uswarm-searxng')['data']['settings.yml']);
    expect(outgoing.proxies).toEqual({ 'https://': PROXY, 'http://': 'http://10.9.8.7:3129' });
  });

  it.each(['uswarm-orchestrator', 'uswarm-model-gateway', 'searxng'])(
    'is the only way of %s out of the cluster',
    (name) => {
      const policies = policiesOf(manifests);
      const pod: NetworkPod = podOf(manifests, name);
      const open = (address: string): number[] =>
        [80, 443, 3128, 3129].filter((port) => leaves(policies, pod, address, port));
      expect({ any: open('1.1.1.1'), byAddress: open('10.9.8.7') }).toEqual({ any: [3128], byAddress: [3128, 3129] });
    },
  );

  it('is reached only at the addresses in networkPolicy.proxy.to', async () => {
    const to = [{ ipBlock: { cidr: '10.9.8.0/24' } }];
    const policies = policiesOf(await render(merge(VALUES, { networkPolicy: { proxy: { to } } })));
    const pod = podOf(manifests, 'uswarm-model-gateway');
    expect(leaves(policies, pod, '1.1.1.1', 3128)).toBe(false);
    expect(leaves(policies, pod, '10.9.8.9', 3128)).toBe(true);
  });

  it('has the user name and the password of a Secret', async () => {
    const rendered = await render(merge(VALUES, { secrets: { proxy: { existingSecret: 'proxy-login' } } }));
    const { env } = container(rendered, 'uswarm-model-gateway', 'model-gateway');
    const keyOf = (name: string) => env?.find((variable) => variable.name === name)?.valueFrom?.secretKeyRef;
    expect(keyOf('PROXY_USERNAME')).toMatchObject({ name: 'proxy-login', key: 'username' });
    expect(keyOf('PROXY_PASSWORD')).toMatchObject({ name: 'proxy-login', key: 'password' });
  });

  it('cannot have credentials in its URL', async () => {
    expect(await rejection(merge(VALUES, { proxy: { https: 'http://ann:secret@proxy.example.com' } }))).toContain(
      '/proxy/https',
    );
  });
});

it('services use no proxy by default', async () => {
  const manifests = await render({ ...evaluation, ...modelProvider });
  for (const [deployment, name] of USERS) {
    const env = variablesOf(manifests, deployment, name);
    expect(Object.keys(env).filter((key) => /^(HTTPS?_PROXY|NO_PROXY|PROXY_)/.test(key))).toEqual([]);
  }
});
