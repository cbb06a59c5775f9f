import { beforeAll, describe, expect, it } from '@jest/globals';
import { connects, networkPod, policiesOf } from './support/network-model.js';
import {
  evaluation,
  external,
  find,
  type Manifest,
  modelProvider,
  ofKind,
  podTemplates,
  rejection,
  render,
} from './support/rendering.js';
import { merge } from './support/value-paths.js';

// Support for managed platforms.

/** Key in the values → object names. */
const COMPONENTS = {
  orchestrator: 'uswarm-orchestrator',
  gateway: 'uswarm-realtime-gateway',
  modelGateway: 'uswarm-model-gateway',
  webhook: 'uswarm-webhook',
  controller: 'uswarm-controller',
  searxngClient: 'uswarm-searxng-client',
  searxng: 'searxng',
};
const metadata = (name: string): { labels: object; annotations: object } => ({
  labels: { [`${name}-label`]: name },
  annotations: { [`${name}-annotation`]: name },
});

describe('labels and annotations', () => {
  const everywhere = { defaults: { serviceAccount: metadata('all') } };
  let manifests: Manifest[];
  beforeAll(async () => {
    const own = (key: string): object => ({
      service: metadata(`service-${key}`),
      serviceAccount: metadata(`account-${key}`),
      deploymentLabels: { [`deployment-${key}`]: key },
      deploymentAnnotations: { [`deployment-${key}`]: key },
    });
    manifests = await render(
      merge(merge(evaluation, modelProvider), {
        ...Object.fromEntries(Object.keys(COMPONENTS).map((key) => [key, own(key)])),
        defaults: {
          ...everywhere.defaults,
          service: metadata('all'),
          deploymentLabels: { all: 'all' },
          deploymentAnnotations: { all: 'all' },
        },
      }),
    );
  });

  it.each(Object.entries(COMPONENTS))('are set on the Service, ServiceAccount and Deployment of %s', (key, name) => {
    const all = metadata('all');
    const service = metadata(`service-${key}`);
    const account = metadata(`account-${key}`);
    expect(find(manifests, 'Service', name).metadata).toMatchObject(merge(all, service));
    expect(find(manifests, 'ServiceAccount', name).metadata).toMatchObject(merge(all, account));
    expect(find(manifests, 'Deployment', name).metadata).toMatchObject({
      labels: { all: 'all', [`deployment-${key}`]: key },
      annotations: { all: 'all', [`deployment-${key}`]: key },
    });
  });

  it.each([
    ['uswarm-drain', 'helm', 'helm.sh/hook'],
    ['uswarm-cleanup', 'argocd', 'argocd.argoproj.io/hook'],
    ['uswarm-test', 'helm', 'helm.sh/hook'],
  ])('are set on the ServiceAccount %s beside its hook if they are defaults', async (name, hooks, hook) => {
    const rendered = await render(merge(external, { ...everywhere, drain: { hooks } }));
    expect(find(rendered, 'ServiceAccount', name).metadata).toMatchObject(
      merge(metadata('all'), { annotations: { [hook]: expect.any(String) } }),
    );
  });

  it('are also set on the evaluation stores if they are defaults', () => {
    for (const name of ['uswarm-postgres', 'uswarm-valkey']) {
      for (const kind of ['Service', 'ServiceAccount'])
        expect(find(manifests, kind, name).metadata).toMatchObject(metadata('all'));
    }
  });

  it('never change selectors', async () => {
    const stolen = { 'app.kubernetes.io/component': 'other' };
    const changed = await render({ ...evaluation, webhook: { service: { labels: stolen }, deploymentLabels: stolen } });
    for (const kind of ['Service', 'Deployment']) {
      expect(find(changed, kind, 'uswarm-webhook').metadata.labels).toMatchObject({
        'app.kubernetes.io/component': 'webhook',
      });
    }
  });
});

describe('ServiceAccounts', () => {
  it('mount their token only if configured', async () => {
    const manifests = await render({ ...evaluation, gateway: { serviceAccount: { automount: true } } });
    const automounting = ofKind(manifests, 'ServiceAccount').filter((each) => each['automountServiceAccountToken']);
    expect(automounting.map(({ metadata: { name } }) => name)).toEqual(['uswarm-realtime-gateway']);
  });
});

describe('an external Service', () => {
  const http = { publicUrl: 'https://api.example.com', trustedProxies: ['10.32.0.8/29'] };

  it('has only the http port, in addition to the internal Service', async () => {
    const service = {
      type: 'LoadBalancer',
      nodePort: 30_080,
      loadBalancerClass: 'example.com/internal',
      loadBalancerSourceRanges: ['192.0.2.0/24'],
      externalTrafficPolicy: 'Local',
      annotations: { a: 'b' },
    };
    const manifests = await render({ ...evaluation, http, orchestrator: { service } });
    const edge = find(manifests, 'Service', 'uswarm-orchestrator-edge', 'backend');
    const inside = find(manifests, 'Service', 'uswarm-orchestrator', 'backend');
    expect(edge['spec']).toEqual({
      type: 'LoadBalancer',
      loadBalancerClass: 'example.com/internal',
      loadBalancerSourceRanges: ['192.0.2.0/24'],
      externalTrafficPolicy: 'Local',
      selector: inside['spec'].selector,
      ports: [{ name: 'http', port: 8080, targetPort: 'http', protocol: 'TCP', nodePort: 30_080 }],
    });
    expect(edge.metadata.annotations).toEqual({ a: 'b' });
    expect(inside['spec']).toMatchObject({ type: 'ClusterIP', ports: { length: 3 } });
    expect(ofKind(manifests, 'Service').filter(({ spec }) => spec.type !== 'ClusterIP')).toEqual([edge]);
  });

  it('has no load balancer settings with type NodePort', async () => {
    const service = { type: 'NodePort', loadBalancerClass: 'a', loadBalancerSourceRanges: ['192.0.2.0/24'] };
    const { spec } = find(
      await render({ ...evaluation, http, gateway: { service } }),
      'Service',
      'uswarm-realtime-gateway-edge',
    );
    expect(spec).toMatchObject({ type: 'NodePort', ports: [{ name: 'http', port: 8080 }] });
    expect(Object.keys(spec)).not.toEqual(expect.arrayContaining(['loadBalancerClass']));
  });

  it('is rejected for internal components', async () => {
    expect(await rejection(merge(external, { webhook: { service: { type: 'LoadBalancer' } } }))).toContain("'type'");
  });
});

it('extraObjects are rendered as templates', async () => {
  const extraObjects = [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '{{ include "uswarm.fullname" . }}-extra', namespace: '{{ .Release.Namespace }}' },
      data: { image: '{{ .Values.images.registry }}', number: '1' },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'second' } },
  ];
  const manifests = await render({ ...evaluation, extraObjects });
  expect(find(manifests, 'ConfigMap', 'uswarm-extra', 'backend')['data']).toEqual({
    image: evaluation.images.registry,
    number: '1',
  });
  expect(find(manifests, 'Secret', 'second')).toBeDefined();
  expect(await rejection(merge(external, { extraObjects: [{ kind: 'Secret' }] }))).toContain('/extraObjects/0');
});

it('pod user ids can be changed, but not to root and not for images with fixed ids', async () => {
  const ids = { runAsUser: 1000, runAsGroup: 1001, fsGroup: 1002 };
  const pods = podTemplates(await render({ ...evaluation, defaults: { podSecurityContext: ids } }));
  const others = pods.filter(({ spec }) => spec.securityContext.runAsUser !== 1000);
  expect(others.map(({ owner }) => owner).toSorted()).toEqual(['searxng', 'uswarm-postgres', 'uswarm-valkey']);
  for (const { spec } of pods) expect(spec.securityContext.runAsNonRoot).toBe(true);
  const root = { defaults: { podSecurityContext: { runAsUser: 0 } } };
  expect(await rejection(merge(external, root))).toContain('/podSecurityContext/runAsUser');
});

describe('on OpenShift', () => {
  const NONROOT = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'system:openshift:scc:nonroot-v2',
  };
  const openshift = { enabled: true };
  const bindings = (manifests: readonly Manifest[]): Manifest[] =>
    ofKind(manifests, 'RoleBinding').filter((each) => each['roleRef'].name.startsWith('system:openshift'));

  it('no security context constraint is bound by default', async () => {
    expect(bindings(await render(evaluation))).toEqual([]);
  });

  it.each([
    ['builtin', evaluation],
    ['metacontroller', { ...external, controller: { framework: 'metacontroller' } }],
    ['Helm', { ...evaluation, drain: { hooks: 'helm' } }],
    ['Argo CD', { ...evaluation, drain: { hooks: 'argocd' } }],
  ])('all ServiceAccounts of the release and of workspaces may use fixed ids (%s)', async (_, values) => {
    const manifests = await render(merge(values, { openshift, runtime: { extraNamespaces: ['team-a'] } }));
    const found = bindings(manifests);
    for (const each of found) expect(each['roleRef']).toEqual(NONROOT);
    const subjects = (namespace: string): { kind: string; name: string; namespace?: string }[] =>
      found.filter(({ metadata: { namespace: at } }) => at === namespace).flatMap((each) => each['subjects']);
    const accounts = podTemplates(manifests).map(({ spec }) => spec.serviceAccountName as string);
    const bound = subjects('backend').map(({ name }) => name);
    expect(bound.toSorted()).toEqual([...new Set(accounts)].toSorted());
    const others = subjects('backend').filter(
      ({ kind, namespace }) => kind !== 'ServiceAccount' || namespace !== 'backend',
    );
    expect(others).toEqual([]);
    for (const namespace of ['userswarms', 'team-a']) {
      const { apiGroup } = NONROOT;
      expect(subjects(namespace)).toEqual([{ apiGroup, kind: 'Group', name: `system:serviceaccounts:${namespace}` }]);
    }
  });

  it.each(['helm', 'argocd'])(
    'the ServiceAccount of the uninstall hooks keeps its permissions after the release is deleted (%s)',
    async (hooks) => {
      const manifests = await render({ ...evaluation, openshift, drain: { hooks } });
      const uninstall = /^uswarm-(drain|cleanup)$/;
      const [account] = ofKind(manifests, 'ServiceAccount').filter(({ metadata: { name } }) => uninstall.test(name));
      const [binding] = bindings(manifests).filter((each) => uninstall.test(each['subjects'][0].name));
      expect(binding!.metadata.annotations).toEqual(account!.metadata.annotations);
    },
  );

  it('pods can reach the DNS servers of OpenShift', async () => {
    const dns = { name: 'dns', namespace: 'openshift-dns', labels: {}, ports: { dns: 5353 } };
    for (const [values, expected] of [
      [evaluation, false],
      [{ ...evaluation, openshift }, true],
    ] as const) {
      const manifests = await render(values);
      const pod = podTemplates(manifests).find(({ owner }) => owner === 'uswarm-orchestrator')!;
      expect(connects(policiesOf(manifests), networkPod(pod, 'backend'), dns, 5353)).toBe(expected);
    }
  });
});
