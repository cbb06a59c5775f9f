import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  container,
  evaluation,
  external,
  find,
  type Manifest,
  podTemplates,
  REGISTRY,
  rejection,
  render,
} from './support/rendering.js';

interface Settings {
  use_default_settings: { engines: { keep_only: string[] } };
  search: { formats: string[] };
  server: { limiter: boolean; port: number; secret_key?: string };
  outgoing: { request_timeout: number; max_request_timeout: number };
  engines: { name: string; engine: string; categories: string; disabled?: boolean }[];
}

const settings = (manifests: readonly Manifest[]): Settings =>
  parse(find(manifests, 'ConfigMap', 'uswarm-searxng')['data']['settings.yml']) as Settings;

const checksum = (manifests: readonly Manifest[], owner: string): string | undefined =>
  podTemplates(manifests).find((pod) => pod.owner === owner)?.annotations['checksum/config'];

describe('SearXNG', () => {
  it('is named searxng in every release and has small requests', async () => {
    const manifests = await render(external, { release: 'other' });
    expect(find(manifests, 'Service', 'searxng', 'backend')['spec'].ports).toMatchObject([{ port: 8080 }]);
    const { spec } = find(manifests, 'Deployment', 'searxng', 'backend') as unknown as { spec: { replicas: number } };
    expect(spec.replicas).toBe(1);
    expect(container(manifests, 'searxng', 'searxng').resources.requests).toEqual({ cpu: '50m', memory: '128Mi' });
  });

  it('returns JSON without a limiter before the timeout of the search tool', async () => {
    const { search, server, outgoing } = settings(await render(external));
    expect(search.formats).toContain('json');
    expect(server).toMatchObject({ limiter: false, port: 8080 });
    expect(server).not.toHaveProperty('secret_key');
    expect(outgoing.max_request_timeout).toBeLessThan(10);
  });

  it('uses five general engines, an encyclopedia and a knowledge base', async () => {
    const { engines, use_default_settings: defaults } = settings(await render(external));
    expect(defaults.engines.keep_only).toEqual([]);
    expect(engines.map(({ engine }) => engine)).toEqual([
      'duckduckgo',
      'bing',
      'mojeek',
      'yahoo',
      'mwmbl',
      'wikipedia',
      'wikidata',
    ]);
    for (const engine of engines) expect(engine).toMatchObject({ name: engine.engine, categories: 'general' });
    expect(engines.filter(({ disabled }) => disabled)).toEqual([]);
  });

  it('restarts only when its engines or settings change', async () => {
    const engines = [{ name: 'test', engine: 'json_engine', search_url: 'http://upstream/?q={query}' }];
    const values = { engines, settings: { outgoing: { proxies: { 'all://': ['http://proxy'] } } } };
    const [before, same, after] = await Promise.all([
      render(external),
      render({ ...external, gateway: { replicas: 3 }, images: { ...external.images, tag: 'other' } }),
      render({ ...external, searxng: values }),
    ]);
    expect(settings(after).engines).toEqual(engines);
    expect(settings(after).outgoing).toMatchObject({ request_timeout: 4, proxies: { 'all://': ['http://proxy'] } });
    expect(checksum(before, 'searxng')).toMatch(/^[0-9a-f]{64}$/);
    expect(checksum(same, 'searxng')).toBe(checksum(before, 'searxng'));
    expect(checksum(after, 'searxng')).not.toBe(checksum(before, 'searxng'));
    const pod = (manifests: Manifest[]): object => podTemplates(manifests).find(({ owner }) => owner === 'searxng')!;
    expect(pod(same)).toEqual(pod(before));
  });

  it('is the default endpoint of the search tool', async () => {
    const endpoint = async (values: object): Promise<unknown> =>
      container(await render(values), 'uswarm-searxng-client', 'searxng-client').env!.find(
        ({ name }) => name === 'SVC_SEARCH_ENDPOINT',
      )?.value;
    expect(await endpoint(external)).toBe('http://searxng.backend.svc.cluster.local:8080');
    const other = { ...external, searxngClient: { endpoint: 'http://search.example.com' } };
    expect(await endpoint(other)).toBe('http://search.example.com');
  });
});

describe('a SearXNG behind Basic authentication', () => {
  const endpoint = 'https://search.example.com';
  const withLogin = (searxngClient: object): object => ({
    ...external,
    secrets: { ...external.secrets, search: { existingSecret: 'searxng-login', password: 'pass' } },
    searxngClient,
  });
  const credentials = async (values: object): Promise<object[]> =>
    container(await render(values), 'uswarm-searxng-client', 'searxng-client').env!.filter(({ name }) =>
      /^SVC_SEARCH_(USERNAME|PASSWORD)/.test(name),
    );

  it('receives the credentials of a Secret', async () => {
    expect(await credentials(external)).toEqual([]);
    expect(await credentials(withLogin({ endpoint }))).toEqual([
      { name: 'SVC_SEARCH_USERNAME', valueFrom: { secretKeyRef: { name: 'searxng-login', key: 'username' } } },
      { name: 'SVC_SEARCH_PASSWORD', valueFrom: { secretKeyRef: { name: 'searxng-login', key: 'pass' } } },
    ]);
  });

  it('receives them as files with mountSecretsAsFiles', async () => {
    const values = { ...withLogin({ endpoint }), mountSecretsAsFiles: true };
    expect(await credentials(values)).toEqual([
      { name: 'SVC_SEARCH_USERNAME_FILE', value: '/etc/uswarm/secrets/SVC_SEARCH_USERNAME' },
      { name: 'SVC_SEARCH_PASSWORD_FILE', value: '/etc/uswarm/secrets/SVC_SEARCH_PASSWORD' },
    ]);
  });

  it('needs an endpoint, which contains no credentials', async () => {
    expect(await rejection(withLogin({}))).toMatch(/secrets\.search has no effect without searxngClient\.endpoint/);
    const inUrl = { endpoint: 'https://user:hunter2@search.example.com' };
    expect(await rejection({ ...external, searxngClient: inUrl })).toMatch(/endpoint/);
  });
});

describe('the policy', () => {
  it('lists namespaces, images, Secrets and maxima, and a change restarts the webhook', async () => {
    const more = {
      extraNamespaces: ['team-a'],
      imagePrefixes: ['registry.example.com/agents/'],
      sharedEnvSecrets: ['extra-env'],
      maxResources: { cpu: '2', memory: '' },
      trustedCA: { existingConfigMap: 'company-ca' },
    };
    const [before, same, after] = await Promise.all([
      render(evaluation),
      render({ ...evaluation, defaults: { logLevel: 'debug' } }),
      render({ ...evaluation, runtime: more }),
    ]);
    expect(find(before, 'ConfigMap', 'uswarm-policy', 'backend')['data']).toEqual({
      runtimeNamespaces: 'userswarms',
      imagePrefixes: `${REGISTRY}/uswarm/agent-runtime`,
      sharedEnvSecrets: 'uswarm-model-env',
      maxCpu: '8',
      maxMemory: '16Gi',
    });
    expect(find(after, 'ConfigMap', 'uswarm-policy')['data']).toEqual({
      runtimeNamespaces: 'userswarms\nteam-a',
      imagePrefixes: `${REGISTRY}/uswarm/agent-runtime\nregistry.example.com/agents/`,
      sharedEnvSecrets: 'uswarm-model-env\nextra-env',
      maxCpu: '2',
      maxMemory: '',
    });
    expect(checksum(before, 'uswarm-webhook')).toMatch(/^[0-9a-f]{64}$/);
    expect(checksum(same, 'uswarm-webhook')).toBe(checksum(before, 'uswarm-webhook'));
    expect(checksum(after, 'uswarm-webhook')).not.toBe(checksum(before, 'uswarm-webhook'));
  });
});
