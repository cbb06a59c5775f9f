import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { describedList, secretList } from '@uswarm/cli/production-secrets';
import { readConfig } from '@uswarm/orchestrator/config';
import { parse } from 'yaml';
import { environment } from './support/environment.js';
import { referencesOf } from './support/references.js';
import { enters, networkPod, policiesOf } from './support/network-model.js';
import {
  type Container,
  container,
  containersOf,
  find,
  helm,
  type Manifest,
  ofKind,
  parseManifests,
  podTemplates,
  render,
  repositoryFile,
} from './support/rendering.js';

const read = async (path: string): Promise<unknown> => parse(await readFile(repositoryFile(path), 'utf8'));

describe('example values', () => {
  it.each(['kind', 'production'])('pass a strict lint: deploy/%s', async (name) => {
    const files = [repositoryFile(`deploy/${name}/values.yaml`)];
    expect(await helm(['lint', '--strict'], {}, { files })).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  it('are all listed in deploy/README.md', async () => {
    const readme = await readFile(repositoryFile('deploy/README.md'), 'utf8');
    const found = await readdir(repositoryFile('deploy'), { recursive: true });
    const listed = [...readme.matchAll(/^\| `([^`]+\.yaml)`/gm)].map(([, path]) => path);
    expect(listed.toSorted()).toEqual(found.filter((path) => path.endsWith('values.yaml')).toSorted());
  });

  it('require only local images in the example for kind', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/kind/values.yaml')] });
    const own = podTemplates(manifests).flatMap((pod) => containersOf(pod).map(({ image }) => image));
    expect(own.filter((image) => image.includes('/uswarm/'))).not.toEqual([]);
    expect(own.filter((image) => image.includes('/uswarm/') && !image.startsWith('localhost/'))).toEqual([]);
    expect(ofKind(manifests, 'Secret').map(({ metadata }) => metadata.name)).toContain('uswarm-evaluation');
  });

  it('use external data and Secrets, and tolerate the loss of a node, in the example for production', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const names = ofKind(manifests, 'Deployment').map(({ metadata }) => metadata.name);
    expect(names.filter((name) => /postgres|valkey/.test(name))).toEqual([]);
    expect(ofKind(manifests, 'Secret')).toEqual([]);
    const single = ofKind(manifests, 'Deployment').filter(({ spec }) => spec.replicas < 2);
    expect(single.map(({ metadata }) => metadata.name)).toEqual(['searxng']);
    const variables = podTemplates(manifests).flatMap((pod) =>
      containersOf(pod).flatMap(({ env = [] }) => env.map(({ name }) => name)),
    );
    expect(variables).not.toContain('E2E_TOKEN');
    expect(variables).toContain('SVC_SPACES_SECRET');
  });

  it.each(['deploy/production/values.yaml', 'charts/uswarm/ci/minimal-production-values.yaml'])(
    'render the same bytes each time, so that GitOps tools see no change: %s',
    async (path) => {
      const files = [repositoryFile(path)];
      const [first, second] = [await helm(['template'], {}, { files }), await helm(['template'], {}, { files })];
      expect(second).toBe(first);
    },
  );

  it('refer only to objects that the chart, `secrets create` or the commands of deploy/README.md create', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const references = referencesOf(manifests);
    expect(references).toEqual(
      expect.arrayContaining([
        'Secret backend/uswarm-keys sync-token',
        'Secret backend/uswarm-tls tls.key',
        'Secret backend/registry .dockerconfigjson',
        'Secret userswarms/registry .dockerconfigjson',
        'Secret userswarms/uswarm-runtime-stores SVC_SPACES_KEY',
        'Secret backend/uswarm-model-providers OPENAI_API_KEY',
        'ConfigMap backend/company-ca ca.crt',
        'ConfigMap backend/uswarm-policy',
      ]),
    );
    const secrets = createdSecrets();
    const made = new Set([...rendered(manifests), ...(await shownIn('deploy/README.md')), ...secrets]);
    expect(references.filter((reference) => !made.has(reference))).toEqual([]);
    // A pod of the runtimes mounts no single key.
    const used = new Set(references.flatMap((reference) => [reference, reference.replace(/ \S+$/, '')]));
    expect(secrets.filter((secret) => !used.has(secret))).toEqual([]);
  });

  it('are accepted by the orchestrator with the values that `secrets create` generates', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const { items } = secretList(TARGET, INPUTS) as { items: Manifest[] };
    const config = readConfig(environment([...manifests, ...items], 'orchestrator'));
    expect(config).toMatchObject({
      DATABASE_URL: INPUTS.DATABASE_URL,
      OPERATOR_ISSUERS: [{ audience: 'uswarmctl' }],
      INTEGRATION_TOKEN_KEYS: [{ id: 'k1' }],
    });
  });
});

describe('deploy/production/external-secrets.yaml', () => {
  interface ExternalSecret extends Manifest {
    spec: {
      refreshPolicy: string;
      secretStoreRef: { kind: string; name: string };
      target: { creationPolicy: string; template?: { type: string } };
      data: { secretKey: string; remoteRef: { key: string } }[];
    };
  }
  const readAll = async (): Promise<ExternalSecret[]> =>
    parseManifests(await readFile(repositoryFile('deploy/production/external-secrets.yaml'), 'utf8')) as never;

  it('makes the same Secrets, types and keys as `secrets create`', async () => {
    const found = (await readAll()).flatMap(({ metadata, spec }) => {
      const keys = spec.data.map(({ secretKey }) => secretKey);
      return typed(metadata, spec.target.template?.type ?? 'Opaque', keys);
    });
    const { items } = describedList(TARGET) as { items: (Manifest & { type: string; stringData: object })[] };
    const wanted = items.flatMap(({ metadata, type, stringData }) => typed(metadata, type, Object.keys(stringData)));
    expect(found.toSorted()).toEqual(wanted.toSorted());
  });

  it('makes the Secrets of the release in an earlier wave, and those in the namespace that the chart creates in the same', async () => {
    for (const { metadata } of await readAll()) {
      const wave = metadata.annotations?.['argocd.argoproj.io/sync-wave'];
      const { name, namespace } = metadata;
      expect({ name, namespace, wave }).toEqual({ name, namespace, wave: namespace === 'backend' ? '-1' : undefined });
    }
  });

  it('neither changes values in place, nor deletes Secrets with itself', async () => {
    for (const { spec } of await readAll()) {
      expect(spec).toMatchObject({
        refreshPolicy: 'OnChange',
        secretStoreRef: { kind: 'ClusterSecretStore' },
        target: { creationPolicy: 'Orphan' },
      });
    }
  });

  it('reads each Secret from one entry of the store, so that both namespaces get the same values', async () => {
    for (const { metadata, spec } of await readAll()) {
      const entries = new Set(spec.data.map(({ remoteRef }) => remoteRef.key));
      expect([...entries]).toEqual([`uswarm/${metadata.name}`]);
    }
  });
});

const TARGET = { release: 'uswarm', namespace: 'backend', runtimeNamespace: 'userswarms', skip: [] };
const INPUTS = {
  DATABASE_URL: 'postgres://uswarm:password@db.example.com:5432/uswarm?sslmode=verify-full',
  REALTIME_REDIS_URL: 'rediss://uswarm:password@valkey.example.com:6379',
  FILES_ACCESS_KEY_ID: 'id',
  FILES_SECRET_ACCESS_KEY: 'secret',
  OPENAI_API_KEY: 'key',
  INTEGRATION_PROVIDERS: '{}',
  TLS_CERTIFICATE: 'certificate',
  TLS_PRIVATE_KEY: 'key',
  REGISTRY_SERVER: 'registry.example.com',
  REGISTRY_USERNAME: 'puller',
  REGISTRY_PASSWORD: 'password',
  RUNTIME_SPACES_KEY: 'id',
  RUNTIME_SPACES_SECRET: 'secret',
};

/** The Secrets of `uswarmctl secrets create`, as in `named`. */
function createdSecrets(): string[] {
  const { items } = describedList(TARGET) as { items: (Manifest & { stringData: object })[] };
  return items.flatMap(({ metadata, stringData }) =>
    named('Secret', metadata.namespace!, metadata.name, Object.keys(stringData)),
  );
}

const typed = ({ namespace, name }: Manifest['metadata'], type: string, keys: readonly string[]): string[] =>
  keys.map((key) => `${namespace}/${name} ${type} ${key}`);

/** Renders values on top of deploy/production/values.yaml. */
const onTopOfProduction = (path: string): Promise<Manifest[]> =>
  render({}, { files: ['deploy/production/values.yaml', path].map(repositoryFile) });

/** A component's readiness endpoint, for a load balancer in front of its pods. */
function readiness(manifests: readonly Manifest[], owner: string): { port: number; path: string } {
  const pod = podTemplates(manifests).find((each) => each.owner === owner)!;
  const serving = pod.spec.containers[0] as Container;
  const { path, port } = (serving.readinessProbe as { httpGet: { path: string; port: string } }).httpGet;
  return { path, port: serving.ports!.find(({ name }) => name === port)!.containerPort };
}
const EDGE = ['uswarm-orchestrator', 'uswarm-realtime-gateway'];

/** True if the NetworkPolicies allow a connection from this address to an edge pod. */
function takes(manifests: readonly Manifest[], owner: string, address: string, port: number): boolean {
  const pod = networkPod(
    podTemplates(manifests).find((each) => each.owner === owner)!,
    'backend',
  );
  return enters(policiesOf(manifests), address, pod, port);
}

/** By path in each Ingress and HTTPRoute: the Service name. */
const backends = (manifests: readonly Manifest[]): Record<string, string>[] => [
  ...ofKind(manifests, 'Ingress').map(({ spec }) =>
    Object.fromEntries(
      spec.rules[0].http.paths.map(({ path, backend }: { path: string; backend: { service: { name: string } } }) => [
        path,
        backend.service.name,
      ]),
    ),
  ),
  ...ofKind(manifests, 'HTTPRoute').map(({ spec }) =>
    Object.fromEntries(
      spec.rules.flatMap((rule: { matches: { path: { value: string } }[]; backendRefs: { name: string }[] }) =>
        rule.matches.map(({ path }) => [path.value, rule.backendRefs[0]?.name]),
      ),
    ),
  ),
];

describe('each example with an edge', () => {
  it.each(['deploy/eks', 'deploy/gke', 'deploy/openshift', 'deploy/production', 'deploy/gke/ingress-values.yaml'])(
    'routes sockets and streams to the gateway: %s',
    async (path) => {
      const file = path.endsWith('.yaml') ? path : `${path}/values.yaml`;
      const [edge, ...others] = backends(await onTopOfProduction(file));
      expect(others).toEqual([]);
      expect(edge).toEqual({
        '/v1': 'uswarm-orchestrator',
        '/v1/stream': 'uswarm-realtime-gateway',
        '/socket.io/': 'uswarm-realtime-gateway',
      });
    },
  );
});

describe('the example for EKS', () => {
  it('lets the load balancer check the readiness endpoint', async () => {
    const manifests = await onTopOfProduction('deploy/eks/values.yaml');
    const [ingress] = ofKind(manifests, 'Ingress');
    expect(ingress!['spec'].ingressClassName).toBe('alb');
    expect(ingress!.metadata.annotations).toMatchObject({ 'alb.ingress.kubernetes.io/target-type': 'ip' });
    for (const name of EDGE) {
      const { annotations } = find(manifests, 'Service', name).metadata;
      const check = {
        port: Number(annotations!['alb.ingress.kubernetes.io/healthcheck-port']),
        path: annotations!['alb.ingress.kubernetes.io/healthcheck-path'],
      };
      expect(check).toEqual(readiness(manifests, name));
      expect([8080, 8081, 8082].filter((port) => takes(manifests, name, '10.32.0.9', port))).toEqual([8080, 8081]);
      expect(takes(manifests, name, '10.32.1.9', 8080)).toBe(false);
    }
  });

  it('uses a role of the orchestrator instead of an access key', async () => {
    const manifests = await onTopOfProduction('deploy/eks/values.yaml');
    const account = find(manifests, 'ServiceAccount', 'uswarm-orchestrator');
    expect(account.metadata.annotations).toHaveProperty(['eks.amazonaws.com/role-arn']);
    const { env } = container(manifests, 'uswarm-orchestrator', 'orchestrator');
    expect(env!.map(({ name }) => name)).not.toContain('SVC_SPACES_SECRET');
  });
});

describe('the examples for GKE', () => {
  it('let the Gateway check the readiness endpoint', async () => {
    const manifests = await onTopOfProduction('deploy/gke/values.yaml');
    const targets = (kind: string): string[] =>
      ofKind(manifests, kind).map(({ spec }) => `${spec.targetRef.kind} ${spec.targetRef.name}`);
    expect(targets('HealthCheckPolicy')).toEqual(EDGE.map((name) => `Service ${name}`));
    expect(targets('GCPBackendPolicy')).toEqual(EDGE.map((name) => `Service ${name}`));
    for (const name of EDGE) {
      const { port, path } = readiness(manifests, name);
      expect(find(manifests, 'HealthCheckPolicy', name, 'backend')['spec'].default.config).toEqual({
        type: 'HTTP',
        httpHealthCheck: { portSpecification: 'USE_FIXED_PORT', port, requestPath: path },
      });
      expect([8080, 8081, 8082].filter((each) => takes(manifests, name, '35.191.0.9', each))).toEqual([8080, 8081]);
    }
    const [route] = ofKind(manifests, 'HTTPRoute');
    expect(JSON.stringify(route!['spec'])).not.toContain('timeouts');
    expect(ofKind(manifests, 'Ingress')).toEqual([]);
  });

  it('have a BackendConfig that checks the readiness endpoint', async () => {
    const manifests = await onTopOfProduction('deploy/gke/ingress-values.yaml');
    for (const name of EDGE) {
      const annotations = find(manifests, 'Service', name).metadata.annotations!;
      const named = JSON.parse(annotations['cloud.google.com/backend-config']!) as { default: string };
      const { port, path } = readiness(manifests, name);
      const { healthCheck } = find(manifests, 'BackendConfig', named.default, 'backend')['spec'];
      expect(healthCheck).toEqual({ type: 'HTTP', port, requestPath: path });
    }
  });
});

/** `<kind> <namespace>/<name>`, also with each key. */
const named = (kind: string, namespace: string, name: string, keys: readonly string[]): string[] =>
  ['', ...keys].map((key) => `${kind} ${namespace}/${name} ${key}`.trimEnd());

const rendered = (manifests: readonly Manifest[]): string[] =>
  manifests
    .filter(({ kind }) => kind === 'ConfigMap' || kind === 'Secret')
    .flatMap(({ kind, metadata, data }) => named(kind, metadata.namespace!, metadata.name, Object.keys(data ?? {})));

const KEYS_OF_KIND: Record<string, string[]> = {
  'docker-registry': ['.dockerconfigjson'],
  tls: ['tls.crt', 'tls.key'],
};

/** The objects that a document's commands create. */
async function shownIn(path: string): Promise<string[]> {
  const text = (await readFile(repositoryFile(path), 'utf8')).replaceAll('\\\n', ' ');
  const commands = text.matchAll(/^kubectl -n (\S+) create (?:secret (\S+)|configmap) (\S+)(.*)$/gm);
  return [...commands].flatMap(([, namespace, type, name, rest]) => {
    const keys = [...rest!.matchAll(/--from-\w+=([^=\s]+)=/g)].map(([, key]) => key!);
    return named(type ? 'Secret' : 'ConfigMap', namespace!, name!, KEYS_OF_KIND[type ?? ''] ?? keys);
  });
}

describe('the commands for kind in deploy/README.md', () => {
  it('send valid API requests', async () => {
    const readme = await readFile(repositoryFile('deploy/README.md'), 'utf8');
    const kind = readme.split('\n## kind\n')[1]!.split('\n### ')[0]!;
    const { paths } = (await read('packages/contract/openapi.json')) as { paths: Record<string, object> };
    const requests = [...kind.matchAll(/^(?:curl -s|ada)( -X POST)? http:\/\/localhost:8080(\/v1\/\S+)/gm)];
    expect(requests.map(([, , path]) => path)).toEqual(['/v1/health', '/v1/auth/sign-up', '/v1/workspaces']);
    for (const [, post, path] of requests) expect(paths[path!]).toHaveProperty(post ? 'post' : 'get');
    for (const header of ['X-E2E-Token', 'X-E2E-UID', 'X-E2E-Email', 'X-E2E-Name'])
      expect(kind).toContain(`${header}: `);
    expect(kind).toContain('port-forward service/uswarm-orchestrator 8080:http');
    expect(kind).toContain('get secret uswarm-evaluation ');
  });
});

describe('skaffold.yaml', () => {
  interface Skaffold {
    build: { artifacts: { image: string; custom: { buildCommand: string; dependencies: { paths: string[] } } }[] };
    deploy: {
      helm: { releases: { chartPath: string; valuesFiles: string[]; setValueTemplates: Record<string, string> }[] };
    };
  }

  it('builds every image of the chart and sets its tag', async () => {
    const { build, deploy } = (await read('skaffold.yaml')) as Skaffold;
    const [release] = deploy.helm.releases;
    const tags = Object.entries(release!.setValueTemplates);
    const values = (await read('charts/uswarm/values.yaml')) as Record<string, { image: { repository: string } }>;
    const ours = Object.entries(values).filter(([, value]) => value?.image?.repository.startsWith('uswarm/'));
    const expected = ours.map(([component, { image }]) => [
      `${component}.image.tag`,
      `{{.IMAGE_TAG_localhost_${image.repository.replaceAll(/[-/]/g, '_')}}}`,
    ]);
    expect(tags.toSorted()).toEqual(expected.toSorted());
    const repositories = ours.map(([, { image }]) => `localhost/${image.repository}`);
    expect(build.artifacts.map(({ image }) => image).toSorted()).toEqual(repositories.toSorted());
    for (const { image, custom } of build.artifacts) {
      expect(custom.buildCommand).toContain(`--only ${image.split('/').at(-1)}`);
    }
  });

  it('refers to existing files and valid values', async () => {
    const { deploy } = (await read('skaffold.yaml')) as Skaffold;
    const [release] = deploy.helm.releases;
    const files = release!.valuesFiles.map(repositoryFile);
    expect(release!.chartPath).toBe('charts/uswarm');
    await expect(render({}, { files })).resolves.not.toEqual([]);
  });
});
