import { beforeAll, describe, expect, it } from '@jest/globals';
import { LABEL, RUNTIME_COMPONENT } from '@uswarm/contract/userswarm';
import { childLabels } from '@uswarm/webhook';
import {
  connects,
  leaves,
  podOf,
  podsOf,
  policiesOf,
  PRIVATE,
  PUBLIC,
  runtime,
  selecting,
  unrelatedPod,
} from './support/network-model.js';
import { evaluation, external, type Manifest, ofKind, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

let manifests: Manifest[];
beforeAll(async () => {
  manifests = await render({ ...evaluation, runtime: { extraNamespaces: ['team-a'] } });
});

describe('network policies', () => {
  it('can be disabled', async () => {
    const none = await render({ ...evaluation, networkPolicy: { enabled: false } });
    expect(ofKind(none, 'NetworkPolicy')).toEqual([]);
  });

  it('cover every pod of the release in both directions and deny everything else', () => {
    const policies = policiesOf(manifests);
    const pods = podsOf(manifests);
    expect(pods.length).toBeGreaterThanOrEqual(9);
    for (const pod of [...pods, runtime(), runtime('team-a')]) {
      const own = pod.namespace === 'backend' ? pod.name.replace(/-finish$/, '') : 'uswarm-agent-runtime';
      const found = selecting(policies, pod);
      const policyNames = found.map(({ name }) => name).toSorted();
      expect({ pod: pod.name, policyNames }).toEqual({
        pod: pod.name,
        policyNames: [own, 'uswarm-default-deny'].toSorted(),
      });
      for (const { name, policyTypes } of found) {
        expect({ name, policyTypes }).toEqual({ name, policyTypes: ['Ingress', 'Egress'] });
      }
      expect(found.find(({ name }) => name === 'uswarm-default-deny')).toMatchObject({ ingress: [], egress: [] });
    }
  });

  it('select existing pods and ports', async () => {
    for (const rendered of [manifests, await render(external)]) {
      const pods = [...podsOf(rendered), runtime(), runtime('team-a')];
      for (const policy of policiesOf(rendered)) {
        const covered = pods.filter((pod) => selecting([policy], pod).length > 0);
        expect({ policy: policy.name, pods: covered.length }).not.toEqual({ policy: policy.name, pods: 0 });
        const open = policy.ingress.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
        const existing = covered.flatMap(({ ports }) => Object.entries(ports).flat());
        expect(open.filter((port) => !existing.includes(port))).toEqual([]);
      }
    }
  });

  it('allow exactly these connections between pods', () => {
    const policies = policiesOf(manifests);
    const allPods = [...podsOf(manifests), runtime(), runtime('team-a')];
    const open = allPods.flatMap((to) =>
      Object.values(to.ports).flatMap((port) =>
        allPods
          .filter((from) => from !== to && connects(policies, from, to, port))
          .map((from) => `${from.name.replace('uswarm-', '')} → ${to.name.replace('uswarm-', '')}:${port}`),
      ),
    );
    expect(open.toSorted()).toEqual(
      [
        'controller → webhook:8080',
        'orchestrator → postgres:5432',
        'orchestrator → team-a/runtime:42618',
        'orchestrator → userswarms/runtime:42618',
        'orchestrator → valkey:6379',
        'realtime-gateway → orchestrator:8082',
        'realtime-gateway → valkey:6379',
        'searxng-client → searxng:8080',
        'team-a/runtime → searxng-client:8080',
        ...['orchestrator', 'realtime-gateway', 'searxng', 'searxng-client', 'webhook'].map(
          (name) => `test → ${name}:8080`,
        ),
        'userswarms/runtime → searxng-client:8080',
      ].toSorted(),
    );
  });

  it.each([
    [true, 'polling is enabled', {}],
    [false, 'clients use only WebSockets', { gateway: { transports: ['websocket'] } }],
  ])('allow gateways to connect to each other: %s if %s', async (allowed, _when, values) => {
    const rendered = await render({ ...evaluation, ...values });
    const gateway = podOf(rendered, 'uswarm-realtime-gateway');
    expect(connects(policiesOf(rendered), gateway, { ...gateway }, 8080)).toBe(allowed);
  });

  it('let unrelated pods reach only the edge and metrics, even with labels of the release', () => {
    const policies = policiesOf(manifests);
    const labels = podOf(manifests, 'uswarm-orchestrator').labels;
    const unrelatedPods = [
      unrelatedPod('elsewhere'),
      unrelatedPod('elsewhere', labels),
      unrelatedPod('elsewhere', childLabels('workspace-a')),
      unrelatedPod('backend'),
    ];
    for (const from of unrelatedPods) {
      const open = [...podsOf(manifests), runtime()].flatMap((to) =>
        Object.values(to.ports)
          .filter((port) => port !== 8081 && connects(policies, from, to, port))
          .map((port) => `${to.name}:${port}`),
      );
      expect(open.toSorted()).toEqual(['uswarm-orchestrator:8080', 'uswarm-realtime-gateway:8080']);
      expect(connects(policies, from, podOf(manifests, 'uswarm-controller'), 8081)).toBe(true);
    }
    expect(connects(policies, runtime(), podOf(manifests, 'uswarm-controller'), 8081)).toBe(false);
  });

  it('can restrict the edge and metrics to configured peers', async () => {
    const named = (namespace: string): object => ({
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }],
    });
    const values = { ...evaluation, networkPolicy: { edge: named('ingress-nginx'), metrics: named('monitoring') } };
    const rendered = await render(values);
    const reach = (from: string, to: string, port: number): boolean =>
      connects(policiesOf(rendered), unrelatedPod(from), podOf(rendered, to), port);
    for (const name of ['uswarm-orchestrator', 'uswarm-realtime-gateway']) {
      expect(reach('ingress-nginx', name, 8080)).toBe(true);
      expect(reach('monitoring', name, 8080)).toBe(false);
      expect(reach('ingress-nginx', name, 8081)).toBe(false);
      expect(reach('monitoring', name, 8081)).toBe(true);
    }
  });

  it('do not select unrelated pods, except in the namespace that the chart creates', async () => {
    const covered = (rendered: readonly Manifest[], namespace: string): number =>
      selecting(policiesOf(rendered), unrelatedPod(namespace)).length;
    expect(['backend', 'team-a', 'userswarms'].map((name) => covered(manifests, name))).toEqual([0, 0, 1]);
    const theirs = await render({ ...evaluation, runtime: { createNamespace: false } });
    expect(covered(theirs, 'userswarms')).toBe(0);
    expect(selecting(policiesOf(theirs), runtime())).toHaveLength(2);
  });
});

describe('egress from the cluster', () => {
  it('is limited to port 443 on the internet for a runtime', () => {
    const policies = policiesOf(manifests);
    const reached = (address: string): boolean => leaves(policies, runtime(), address, 443);
    expect(PRIVATE.filter(reached)).toEqual([]);
    expect(PUBLIC.filter((address) => !reached(address))).toEqual([]);
    expect([22, 25, 53, 80, 8443].filter((port) => leaves(policies, runtime(), '1.1.1.1', port))).toEqual([]);
  });

  it('includes the ports of the stores of a runtime, or all ports if none is configured', async () => {
    const stores = {
      existingSecret: 's',
      database: { host: 'db', port: 6432, name: 'n', user: 'u' },
      redis: { addr: 'cache:6380' },
      spaces: { endpoint: 'https://s3.example.com:9000', region: 'eu', bucket: 'b' },
    };
    const open = async (rules: object): Promise<number[]> => {
      const networkPolicy = { runtime: { egressAllowRules: rules } };
      const policies = policiesOf(await render(merge(evaluation, { runtime: { stores }, networkPolicy })));
      return [25, 80, 443, 6380, 6432, 9000].filter((port) => leaves(policies, runtime(), '1.1.1.1', port));
    };
    expect(await open({})).toEqual([443, 6380, 6432, 9000]);
    expect(await open({ nonPrivatePorts: [80, 443] })).toEqual([80, 443, 6380, 6432, 9000]);
    expect(await open({ nonPrivatePorts: [] })).toEqual([25, 80, 443, 6380, 6432, 9000]);
  });

  it.each([
    ['cache:6380', 6380],
    ['redis://cache.example.com:6380/0', 6380],
    ['rediss://[fd00::1]:6380/1', 6380],
    ['cache-1', 6379],
    ['redis://cache-1/2', 6379],
  ])('includes the port of the Redis %s for a runtime', async (addr, port) => {
    const policies = policiesOf(await render(merge(evaluation, { runtime: { stores: { redis: { addr } } } })));
    const ports = [0, 1, 2, 6379, 6380].filter((each) => leaves(policies, runtime(), '1.1.1.1', each));
    expect(ports).toEqual([port]);
  });

  it('is limited to the web for SearXNG', () => {
    const policies = policiesOf(manifests);
    const searxng = podOf(manifests, 'searxng');
    expect(PRIVATE.filter((address) => leaves(policies, searxng, address, 443))).toEqual([]);
    expect(PUBLIC.filter((address) => !leaves(policies, searxng, address, 443))).toEqual([]);
    expect([80, 443, 22].map((port) => leaves(policies, searxng, '1.1.1.1', port))).toEqual([true, true, false]);
  });

  it('is limited to their dependencies for other components', async () => {
    const rendered = await render(
      merge(external, {
        oidc: { issuers: [{ issuer: 'http://login.example.com:9000/realms/a', audience: 'app' }] },
        objectStorage: { bucket: 'files', endpoint: 'http://minio.storage.svc' },
        runtime: { stores: { existingSecret: 's', database: { host: 'db', port: 6432, name: 'n', user: 'u' } } },
        // Only the platform's database.
        networkPolicy: { database: { to: [{ ipBlock: { cidr: '192.0.2.1/32' } }] } },
        searxngClient: { endpoint: 'https://search.example.com' },
      }),
    );
    const policies = policiesOf(rendered);
    const ports = (name: string): number[] =>
      [53, 80, 443, 5432, 6379, 6432, 6443, 8080, 9000].filter((port) =>
        leaves(policies, podOf(rendered, name), '192.0.2.1', port),
      );
    expect(ports('uswarm-orchestrator')).toEqual([80, 443, 5432, 6379, 6443, 9000]);
    expect(ports('uswarm-realtime-gateway')).toEqual([6379]);
    expect(ports('uswarm-webhook')).toEqual([6432]);
    expect(leaves(policies, podOf(rendered, 'uswarm-webhook'), '198.51.100.7', 6432)).toBe(true);
    expect(ports('uswarm-controller')).toEqual([443, 6443]);
    expect(ports('uswarm-searxng-client')).toEqual([80, 443]);
    expect(ports('uswarm-test')).toEqual([443, 6443]);
  });

  it('includes the port of an issuer of operators', async () => {
    const rules = [{ claim: 'groups', value: 'sre', rights: ['show'] }];
    const issuers = [{ issuer: 'https://dex.example.com:5556', audience: 'uswarmctl', rules }];
    const reaches = async (values: object): Promise<boolean> => {
      const rendered = await render(merge(external, values));
      return leaves(policiesOf(rendered), podOf(rendered, 'uswarm-orchestrator'), '198.51.100.7', 5556);
    };
    expect(await reaches({})).toBe(false);
    expect(await reaches({ operators: { issuers } })).toBe(true);
  });

  it('is denied for the stores', () => {
    for (const name of ['uswarm-postgres', 'uswarm-valkey']) {
      expect(
        [53, 443].filter((port) => leaves(policiesOf(manifests), podOf(manifests, name), '1.1.1.1', port)),
      ).toEqual([]);
    }
  });

  it('includes the cloud metadata service only if the orchestrator uses a role', async () => {
    const metadata = async (values: object): Promise<boolean> => {
      const rendered = await render(values);
      return leaves(policiesOf(rendered), podOf(rendered, 'uswarm-orchestrator'), '169.254.169.254', 80);
    };
    expect(await metadata(external)).toBe(false);
    expect(await metadata(merge(external, { secrets: { objectStorage: { existingSecret: '' } } }))).toBe(true);
    expect(await metadata(evaluation)).toBe(false);
  });

  it('can be extended and restricted by values for a runtime', async () => {
    const models = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'models' } } };
    const rules = {
      nonPrivatePorts: [443],
      inCluster: [{ ...models, podSelector: { matchLabels: { app: 'vllm' } }, ports: [8000] }],
      privateEndpoints: [{ cidr: '10.20.0.0/16', ports: [8443] }],
    };
    const networkPolicy = { runtime: { egressAllowRules: rules }, clusterRanges: ['203.0.113.0/24', '2001:db8::/32'] };
    const rendered = await render({ ...evaluation, networkPolicy });
    const policies = policiesOf(rendered);
    const vllm = (port: number, labels = { app: 'vllm' }): boolean =>
      connects(policies, runtime(), { ...unrelatedPod('models', labels), ports: { http: port } }, port);
    expect(vllm(8000)).toBe(true);
    expect(vllm(8001)).toBe(false);
    expect(vllm(8000, { app: 'other' })).toBe(false);
    const leave = (address: string, port: number): boolean => leaves(policies, runtime(), address, port);
    expect(leave('10.20.1.1', 8443)).toBe(true);
    expect(leave('10.20.1.1', 443)).toBe(false);
    expect(leave('10.21.1.1', 8443)).toBe(false);
    expect(leave('1.1.1.1', 443)).toBe(true);
    expect(leave('1.1.1.1', 25)).toBe(false);
    expect(leave('203.0.113.9', 443)).toBe(false);
    expect(leave('2001:db8::1', 443)).toBe(false);
    const none = await render({
      ...evaluation,
      networkPolicy: { runtime: { egressAllowRules: { nonPrivateIPs: false } } },
    });
    expect(leaves(policiesOf(none), runtime(), '1.1.1.1', 443)).toBe(false);
  });

  it('includes DNS in kube-system and node-local caches, or at configured addresses', async () => {
    const dns = (policies: ReturnType<typeof policiesOf>, namespace: string): boolean =>
      connects(policies, runtime(), { ...unrelatedPod(namespace), ports: { dns: 53 } }, 53);
    const policies = policiesOf(manifests);
    expect(dns(policies, 'kube-system')).toBe(true);
    expect(dns(policies, 'elsewhere')).toBe(false);
    const cache = (port: number): boolean => leaves(policies, runtime(), '169.254.20.10', port);
    expect(cache(53)).toBe(true);
    expect(cache(80)).toBe(false);
    const to = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } } }];
    const other = policiesOf(
      await render({ ...evaluation, networkPolicy: { dns: { to, nodeLocal: [], ports: [5353] } } }),
    );
    expect(connects(other, runtime(), { ...unrelatedPod('openshift-dns'), ports: { dns: 5353 } }, 5353)).toBe(true);
    expect(dns(other, 'kube-system')).toBe(false);
    expect(leaves(other, runtime(), '169.254.20.10', 53)).toBe(false);
    const anywhere = policiesOf(await render({ ...evaluation, networkPolicy: { dns: { to: [] } } }));
    expect(dns(anywhere, 'elsewhere')).toBe(true);
    expect(leaves(anywhere, runtime(), '1.1.1.1', 53)).toBe(true);
  });

  it('can be extended for every component with extraEgress', async () => {
    const proxy = { to: [{ ipBlock: { cidr: '10.9.9.9/32' } }], ports: [{ protocol: 'TCP', port: 3128 }] };
    const rendered = await render({ ...external, networkPolicy: { extraEgress: [proxy] } });
    const through = podsOf(rendered).filter((pod) => leaves(policiesOf(rendered), pod, '10.9.9.9', 3128));
    expect(through.map(({ name }) => name).toSorted()).toEqual(
      [
        'controller',
        'drain',
        'drain-finish',
        'model-gateway',
        'orchestrator',
        'realtime-gateway',
        'searxng-client',
        'webhook',
      ]
        .map((name) => `uswarm-${name}`)
        .concat('searxng')
        .toSorted(),
    );
  });

  it('reaches the internet for web pages, but no private address and no cloud metadata, unless they are turned off', async () => {
    const reached = async (values: object) => {
      const rendered = await render(merge(external, values));
      const pod = podOf(rendered, 'uswarm-searxng-client');
      const policies = policiesOf(rendered);
      return ['198.51.100.7', '10.1.2.3', '169.254.169.254'].map((address) =>
        [80, 443, 5432].filter((port) => leaves(policies, pod, address, port)),
      );
    };
    expect(await reached({})).toEqual([[80, 443], [], []]);
    expect(await reached({ searxngClient: { pages: { enabled: false } } })).toEqual([[], [], []]);
    expect(await reached({ proxy: { https: 'http://proxy.example.com:3128' } })).toEqual([[], [], []]);
  });

  it('is rejected by the schema with an invalid CIDR range', async () => {
    const wrong = {
      networkPolicy: { runtime: { egressAllowRules: { privateEndpoints: [{ cidr: 'db', ports: [1] }] } } },
    };
    expect(await rejection(merge(external, wrong))).toContain('/privateEndpoints/0/cidr');
    expect(await rejection(merge(external, { networkPolicy: { database: { ports: [] } } }))).toContain(
      '/database/ports',
    );
  });
});

it('a runtime reaches the REST API only if networkPolicy.runtime.restApi is true', async () => {
  const { spec } = ofKind(manifests, 'Deployment').find(({ metadata }) => metadata.name === 'uswarm-webhook')!;
  const env = spec.template.spec.containers[0].env as { name: string; value?: string }[];
  const endpoint = env.find(({ name }) => name === 'SVC_ORCHESTRATOR_ENDPOINT')!.value!;
  const opened = await render({ ...evaluation, networkPolicy: { runtime: { restApi: true } } });
  const reaches = (rendered: readonly Manifest[]): boolean =>
    connects(policiesOf(rendered), runtime(), podOf(rendered, 'uswarm-orchestrator'), Number(new URL(endpoint).port));
  expect({ byDefault: reaches(manifests), opened: reaches(opened) }).toEqual({ byDefault: false, opened: true });
  expect(connects(policiesOf(opened), runtime(), podOf(opened, 'uswarm-orchestrator'), 8082)).toBe(false);
  expect(runtime().labels[LABEL.component]).toBe(RUNTIME_COMPONENT);
});
