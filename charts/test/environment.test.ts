import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROVIDER_CONNECTIONS } from '@uswarm/contract/providers';
import { loadModelGatewayConfig } from '@uswarm/model-gateway';
import { readConfig } from '@uswarm/orchestrator/config';
import { loadConfig, parseSigningKey } from '@uswarm/service-kit';
import { GatewayConfig } from '@uswarm/realtime-gateway/config';
import { loadSearchConfig } from '@uswarm/searxng-client/config';
import { loadControllerConfig } from '@uswarm/controller/config';
import { loadWebhookConfig } from '@uswarm/webhook';
import { environment, FULL, renderEnvironments } from './support/environment.js';
import { container, evaluation, find, type Manifest, REGISTRY, render, repositoryFile } from './support/rendering.js';
import { merge } from './support/value-paths.js';

// Each service's own configuration reads the environment that the chart renders, with the generated secrets.

let minimal: Manifest[];
let full: Manifest[];
let policies: string;
beforeAll(async () => {
  ({ minimal, full } = await renderEnvironments());
  policies = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
});
afterAll(() => rm(policies, { recursive: true, force: true }));

/** A directory with the mounted ConfigMap's files. */
async function mountedPolicy(manifests: Manifest[]): Promise<string> {
  const directory = await mkdtemp(join(policies, 'policy-'));
  const lists = find(manifests, 'ConfigMap', 'uswarm-policy')['data'] as Record<string, string>;
  for (const [name, text] of Object.entries(lists)) await writeFile(join(directory, name), text);
  return directory;
}

it('the gateway calls the orchestrator with its internal key', () => {
  const orchestrator = environment(full, 'orchestrator');
  expect(loadConfig(GatewayConfig, environment(full, 'realtime-gateway'))).toMatchObject({
    GATEWAY_PORT: 8080,
    INTERNAL_API_URL: 'http://uswarm-orchestrator.backend.svc.cluster.local:8082',
    INTERNAL_API_KEY: orchestrator['INTERNAL_API_KEY'],
    REALTIME_REDIS_URL: orchestrator['REALTIME_REDIS_URL'],
    TRANSPORTS: ['websocket'],
    CORS_ORIGINS: ['https://a.example.com', 'https://b.example.com'],
    SOCKETS_PER_USER: 3,
    SOCKET_UNREAD_BYTES: 70_000,
    HTTP_TRUSTED_PROXIES: ['10.0.0.0/8', 'loopback'],
    HSTS_MAX_AGE_S: 31_536_000,
  });
  expect(loadConfig(GatewayConfig, environment(minimal, 'realtime-gateway'))).toMatchObject({
    TRANSPORTS: ['polling', 'websocket'],
    CORS_ORIGINS: [],
  });
});

describe('the webhook', () => {
  it('accepts the environment of the smallest values, without stores', async () => {
    const env = { ...environment(minimal, 'webhook'), POLICY_DIRECTORY: await mountedPolicy(minimal) };
    const { settings, port, database } = await loadWebhookConfig(env);
    const { version } = JSON.parse(await readFile(repositoryFile('package.json'), 'utf8')) as { version: string };
    expect({ port, database }).toEqual({ port: 8080, database: undefined });
    expect(settings).toMatchObject({
      image: `${REGISTRY}/uswarm/agent-runtime:${version}`,
      orchestratorEndpoint: 'http://uswarm-orchestrator.backend.svc.cluster.local:8080',
      mcpEndpoint: 'http://uswarm-searxng-client.backend.svc.cluster.local:8080/mcp',
      callPublicKey: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/),
      stores: [],
      rolloutGate: true,
      pods: { imagePullPolicy: 'IfNotPresent', resources: { requests: { cpu: '50m', memory: '64Mi' } } },
      policy: { runtimeNamespaces: new Set(['userswarms']), sharedEnvSecrets: new Set(['uswarm-model-env']) },
    });
  });

  it('receives all settings of runtime pods', async () => {
    const env = { ...environment(full, 'webhook'), POLICY_DIRECTORY: await mountedPolicy(full) };
    const { pods, policy } = (await loadWebhookConfig(env)).settings;
    const { runtime } = FULL as { runtime: { pods: { tolerations: object[] } } };
    const { tolerations, ...others } = runtime.pods;
    expect(pods).toMatchObject(others);
    expect(pods.tolerations).toEqual([
      ...tolerations,
      ...['not-ready', 'unreachable'].map((state) => ({
        key: `node.kubernetes.io/${state}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 30,
      })),
    ]);
    expect(policy).toEqual({
      runtimeNamespaces: new Set(['userswarms', 'team-a']),
      imagePrefixes: [`${REGISTRY}/uswarm/agent-runtime`, 'registry.example.com/agents/'],
      sharedEnvSecrets: new Set(['uswarm-model-env']),
      maxResources: { cpu: '8', memory: '16Gi' },
    });
  });

  it('receives complete groups of stores, with passwords from the configured Secret', async () => {
    const stores = {
      existingSecret: 'stores',
      database: { host: 'db.example.com', name: 'agents', user: 'agents', sslMode: 'require' },
      redis: { addrFromSecret: true },
      spaces: { endpoint: 'https://s3.example.com', region: 'r', bucket: 'b' },
    };
    const manifests = await render(merge(evaluation, { runtime: { stores } }));
    const secret = { kind: 'Secret', apiVersion: 'v1', metadata: { name: 'stores' } };
    const keys = ['SVC_DATABASE_PASSWORD', 'SVC_REDIS_ADDR', 'SVC_SPACES_KEY', 'SVC_SPACES_SECRET'];
    const stringData = Object.fromEntries(keys.map((key) => [key, `redis://u:p@${key.toLowerCase()}`]));
    const env = environment([...manifests, { ...secret, stringData }], 'webhook');
    const config = await loadWebhookConfig({ ...env, POLICY_DIRECTORY: await mountedPolicy(manifests) });
    expect(config.database).toEqual({
      host: 'db.example.com',
      port: 5432,
      database: 'agents',
      user: 'agents',
      password: stringData['SVC_DATABASE_PASSWORD'],
      sslMode: 'require',
    });
    const secrets = config.settings.stores.filter(({ value }) => value === undefined).map(({ name }) => name);
    expect(secrets.toSorted()).toEqual(keys);
  });
});

it('the controller calls the webhook with its token and watches the allowed namespaces', () => {
  expect(loadControllerConfig(environment(full, 'controller'))).toMatchObject({
    SYNC_URL: 'http://uswarm-webhook.backend.svc.cluster.local:8080/sync',
    SYNC_TOKEN: environment(full, 'webhook')['SYNC_TOKEN'],
    RUNTIME_NAMESPACES: ['userswarms', 'team-a'],
    RESYNC_S: 30,
    LEADER_ELECTION: true,
    LEASE_NAMESPACE: 'backend',
    LEASE_NAME: 'uswarm-controller',
    EVENTS_NAMESPACE: 'default',
    ROLLOUT_MAX_CONCURRENT: 2,
    ROLLOUT_DEADLINE_S: 3_600,
    ROLLOUT_FORCED_BEFORE: new Date('2026-11-28T10:00:00Z'),
    ROLLOUT_MAX_FAILURES: 1,
    START_MAX_CONCURRENT: 0,
  });
  expect(loadControllerConfig(environment(minimal, 'controller'))).toMatchObject({
    ROLLOUT_MAX_CONCURRENT: 5,
    ROLLOUT_DEADLINE_S: 86_400,
    ROLLOUT_MAX_FAILURES: 3,
    START_MAX_CONCURRENT: 100,
  });
});

it('the search tool accepts tokens of the current and the previous signing key', () => {
  const env = environment(full, 'searxng-client');
  expect(env['SVC_MCP_SIGNING_KEY']).toBe(environment(full, 'orchestrator')['SVC_MCP_SIGNING_KEY']);
  const config = loadSearchConfig(env, []);
  expect(config).toMatchObject({
    endpoint: 'http://searxng.backend.svc.cluster.local:8080',
    port: 8080,
    opsPort: 8081,
  });
  expect(config.keys.map(({ id }) => id)).toEqual(['k1', 'default']);
  expect(loadSearchConfig(environment(minimal, 'searxng-client'), []).keys).toHaveLength(1);
});

describe('the model gateway', () => {
  it('receives the keys and settings of the enabled providers', () => {
    const { tokenKeys, internalApi, proxy, ...config } = loadModelGatewayConfig(environment(full, 'model-gateway'));
    const generated = environment(full, 'orchestrator');
    expect(proxy.origins).toEqual([]);
    expect(config).toEqual({
      providers: {
        openai: {
          baseUrl: 'https://models.example.com/v1',
          apiKey: generated['CURSOR_KEY'],
          models: {
            fallback: undefined,
            byId: { flash: 'small', sonnet: 'medium', opus: 'large' },
            further: ['extra-1', 'extra-2'],
          },
        },
        anthropic: {
          baseUrl: 'https://api.anthropic.com/v1',
          apiKey: environment(full, 'webhook')['SYNC_TOKEN'],
          models: {
            fallback: 'other',
            byId: { flash: undefined, sonnet: undefined, opus: undefined },
            further: [],
          },
        },
      },
      transcription: { model: 'whisper-1', baseUrl: 'https://speech.example.com:8443/v1', apiKey: expect.any(String) },
      outputLimit: 1_000,
      limits: { perMinute: 5, concurrent: 2 },
      host: undefined,
      port: 8080,
      opsPort: 8081,
      shutdownGraceMs: 60_000,
      logLevel: 'info',
    });
    expect(internalApi).toEqual({
      url: 'http://uswarm-orchestrator.backend.svc.cluster.local:8082',
      key: parseSigningKey(generated['MODEL_CALLS_KEY']!),
    });
    expect(tokenKeys.map(({ id }) => id)).toEqual(['k1', 'default']);
  });

  it('accepts the tokens of the orchestrator', () => {
    const { MODEL_TOKEN_SIGNING_KEY: current } = readConfig(environment(full, 'orchestrator'));
    expect(loadModelGatewayConfig(environment(full, 'model-gateway')).tokenKeys[0]).toEqual(current);
    expect(readConfig(environment(minimal, 'orchestrator')).MODEL_TOKEN_SIGNING_KEY).toBeUndefined();
  });

  it('is the only way of runtimes to models, unless their UserSwarm names a Secret', async () => {
    const env = { ...environment(full, 'webhook'), POLICY_DIRECTORY: await mountedPolicy(full) };
    const url = 'http://uswarm-model-gateway.backend.svc.cluster.local:8080';
    expect((await loadWebhookConfig(env)).settings.modelGateway).toEqual({ url, provider: 'openai' });
    expect(readConfig(environment(full, 'orchestrator')).RUNTIME_ENV_SECRET).toBe('');
    const direct = { ...environment(minimal, 'webhook'), POLICY_DIRECTORY: await mountedPolicy(minimal) };
    expect((await loadWebhookConfig(direct)).settings.modelGateway).toBeUndefined();
  });
});

describe('environment variables', () => {
  /** Read by Node.js. */
  const nodes = new Set(['NODE_EXTRA_CA_CERTS']);
  /** The model gateway derives them from the table of providers. */
  const derived = Object.values(PROVIDER_CONNECTIONS).flatMap(({ baseUrl, apiKey, model, models, allowedModels }) => [
    baseUrl,
    apiKey,
    model,
    ...Object.values(models),
    allowedModels,
  ]);

  it.each([
    ['orchestrator', 'orchestrator', 'orchestrator'],
    ['orchestrator', 'migrations', 'orchestrator'],
    ['realtime-gateway', 'realtime-gateway', 'realtime-gateway'],
    ['model-gateway', 'model-gateway', 'model-gateway'],
    ['webhook', 'webhook', 'uswarm-webhook'],
    ['controller', 'controller', 'uswarm-controller'],
    ['searxng-client', 'searxng-client', 'searxng-client'],
  ])('are all read by the service that receives them: %s/%s', async (owner, name, service) => {
    const manifests = await render(
      merge(FULL, { nonProduction: { e2eBypass: true }, trustedCA: { existingConfigMap: 'ca' } }),
    );
    const folder = repositoryFile(`services/${service}/src`);
    const files = await readdir(folder, { recursive: true });
    const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
    const text = (await Promise.all(sources.map((file) => readFile(join(folder, file), 'utf8')))).join('\n');
    const names = container(manifests, `uswarm-${owner}`, name).env!.map((each) => each.name);
    expect(names).not.toEqual([]);
    const read = new Set<string>([...nodes, ...(name === 'model-gateway' ? derived : [])]);
    expect(names.filter((each) => !read.has(each) && !new RegExp(`\\b${each}\\b`).test(text))).toEqual([]);
  });
});
