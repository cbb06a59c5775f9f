import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@uswarm/service-kit';
import { callKeys, MigrationConfig, objectSettings, readConfig } from '../../services/orchestrator/src/config.js';
import { GatewayConfig } from '../../services/realtime-gateway/src/config.js';
import { loadSearchConfig } from '../../services/searxng-client/src/config.js';
import { loadControllerConfig } from '../../services/uswarm-controller/src/config.js';
import { loadWebhookConfig } from '../../services/uswarm-webhook/src/config/config.js';
import {
  container,
  environmentOf,
  evaluation,
  find,
  type Manifest,
  REGISTRY,
  render,
  repositoryFile,
} from './rendering.js';
import { merge } from './value-paths.js';

// The services read what the chart writes: the rendered environment, with the generated secrets in
// place, goes through each service's own configuration.

const FULL = merge(evaluation, {
  secrets: {
    internalApi: { previousKey: 'sync-token' },
    cursor: { previousKey: 'identity-hash-key' },
    identityHash: { previousKey: 'cursor-key' },
    signature: { previousKey: 'cursor-key' },
    sync: { previousKey: 'cursor-key' },
    mcpSigning: { previousKey: 'cursor-key' },
    callKey: { previousPrivateKey: 'call-private-key' },
  },
  rollout: { maxConcurrent: 2, deadlineSeconds: 3_600, maxFailures: 1 },
  start: { maxConcurrent: 0 },
  oidc: {
    issuers: [
      {
        issuer: 'https://login.example.com',
        audience: ['app', 'web'],
        jwksUri: 'https://login.example.com/keys',
        id: 'main',
      },
    ],
  },
  http: { trustedProxies: ['10.0.0.0/8', 'loopback'], corsOrigins: ['https://a.example.com', 'https://b.example.com'] },
  ingress: { enabled: true, host: 'api.example.com', tls: { secretName: 'tls' } },
  objectStorage: {
    bucket: 'files',
    endpoint: 'https://s3.example.com',
    region: 'eu',
    prefix: 'a/',
    pathStyle: 'never',
  },
  orchestrator: {
    rateLimits: { sends: { perSecond: 2, burst: 10 } },
    uploads: { maxBytes: 1_000, maxBytesPerUser: 10_000_000_000, atOnce: 3, atOncePerUser: 1, maxFilesPerUser: 50 },
    integrations: { existingConfigMap: 'catalog' },
  },
  gateway: { transports: ['websocket'], sockets: { perUser: 3, unreadBytes: 70_000 } },
  runtime: {
    defaultProvider: 'openai',
    defaultModel: 'opus',
    idleSuspendAfterSeconds: 0,
    extraNamespaces: ['team-a'],
    imagePrefixes: ['registry.example.com/agents/'],
    pods: {
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { pool: 'agents' },
      tolerations: [{ key: 'agents', operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      priorityClassName: 'low',
      runtimeClassName: 'gvisor',
      labels: { team: 'a' },
      annotations: { note: 'a' },
      extraEnv: [{ name: 'TZ', value: 'UTC' }],
    },
  },
});

let minimal: Manifest[];
let full: Manifest[];
let policies: string;
beforeAll(async () => {
  [minimal, full, policies] = await Promise.all([
    render(evaluation),
    render(FULL),
    mkdtemp(join(tmpdir(), 'uswarm-policy-')),
  ]);
});
afterAll(() => rm(policies, { recursive: true, force: true }));

const environment = (manifests: Manifest[], owner: string, name = owner): Record<string, string> =>
  environmentOf(manifests, container(manifests, `uswarm-${owner}`, name));

/** As the ConfigMap is mounted. */
async function mountedPolicy(manifests: Manifest[]): Promise<string> {
  const directory = await mkdtemp(join(policies, 'policy-'));
  const lists = find(manifests, 'ConfigMap', 'uswarm-policy')['data'] as Record<string, string>;
  for (const [name, text] of Object.entries(lists)) await writeFile(join(directory, name), text);
  return directory;
}

describe('the orchestrator', () => {
  it('starts with the smallest values', () => {
    expect(readConfig(environment(minimal, 'orchestrator'))).toMatchObject({
      OIDC_ISSUERS: [{ issuer: 'https://login.example.com', audience: 'app' }],
      SIGNATURE_MODE: 'required',
      RUNTIME_DRIVER: 'kubernetes',
      RUNTIME_NAMESPACE: 'userswarms',
      RUNTIME_ENV_SECRET: 'uswarm-model-env',
      IDLE_SUSPEND_AFTER_S: 1800,
      MIGRATE: false,
      HTTP_PORT: 8080,
      OPS_PORT: 8081,
      INTERNAL_PORT: 8082,
    });
  });

  it('is told what the values say', () => {
    expect(readConfig(environment(full, 'orchestrator'))).toMatchObject({
      HTTP_TRUSTED_PROXIES: ['10.0.0.0/8', 'loopback'],
      CORS_ORIGINS: ['https://a.example.com', 'https://b.example.com'],
      HSTS_MAX_AGE_S: 31_536_000,
      RATE_IP_PER_S: 100,
      RATE_IP_BURST: 300,
      RATE_USER_PER_S: 20,
      RATE_USER_BURST: 60,
      RATE_SENDS_PER_S: 2,
      RATE_SENDS_BURST: 10,
      RATE_SEARCH_PER_S: 2,
      RATE_SEARCH_BURST: 20,
      OIDC_ISSUERS: [
        {
          issuer: 'https://login.example.com',
          audience: ['app', 'web'],
          jwks_uri: 'https://login.example.com/keys',
          id: 'main',
        },
      ],
      RUNTIME_DEFAULT_PROVIDER: 'openai',
      RUNTIME_DEFAULT_MODEL: 'opus',
      IDLE_SUSPEND_AFTER_S: 0,
    });
  });

  it.each([
    ['the configured provider', { runtime: { defaultProvider: 'openai' } }, 'openai'],
    ['demo for an evaluation, whose Secret is empty', {}, 'demo'],
    ['openai when a Secret with model keys is named', { runtime: { modelEnv: { existingSecret: 'keys' } } }, 'openai'],
    ['demo when runtimes get no Secret', { runtime: { modelEnv: { enabled: false } } }, 'demo'],
  ])('names %s in the model catalogue', async (_case, values, provider) => {
    const config = readConfig(environment(await render(merge(evaluation, values)), 'orchestrator'));
    expect(config.MODEL_PROVIDER).toBe(provider);
  });

  it('knows a key of operators only where a Secret with it is named', async () => {
    const operators = merge(evaluation, { secrets: { admin: { existingSecret: 'operators' } } });
    const entry = (manifests: Manifest[]) =>
      container(manifests, 'uswarm-orchestrator', 'orchestrator').env?.find(
        ({ name }: { name: string }) => name === 'ADMIN_API_KEY',
      );
    expect([entry(minimal), entry(await render(operators))]).toEqual([
      undefined,
      { name: 'ADMIN_API_KEY', valueFrom: { secretKeyRef: { name: 'operators', key: 'admin-api-key' } } },
    ]);
  });

  it('keeps files of an evaluation in its pod, and others in the bucket', () => {
    expect(readConfig(environment(minimal, 'orchestrator'))).toMatchObject({
      OBJECT_STORE: 'file',
      OBJECT_DIRECTORY: '/var/lib/uswarm/objects',
      UPLOAD_BYTES: 26_214_400,
      UPLOAD_BYTES_PER_USER: 5_368_709_120,
      UPLOADS_AT_ONCE: 16,
      UPLOADS_AT_ONCE_PER_USER: 2,
      UPLOADS_PER_USER: 10_000,
    });
    const { volumeMounts } = container(minimal, 'uswarm-orchestrator', 'orchestrator');
    expect(volumeMounts).toContainEqual({ name: 'objects', mountPath: '/var/lib/uswarm/objects' });
    const config = readConfig(environment(full, 'orchestrator'));
    expect(config).toMatchObject({
      UPLOAD_BYTES: 1_000,
      UPLOAD_BYTES_PER_USER: 10_000_000_000,
      UPLOADS_AT_ONCE: 3,
      UPLOADS_AT_ONCE_PER_USER: 1,
      UPLOADS_PER_USER: 50,
    });
    expect(objectSettings(config)).toEqual({
      store: 's3',
      bucket: 'files',
      endpoint: 'https://s3.example.com',
      region: 'eu',
      prefix: 'a/',
      pathStyle: false,
    });
  });

  it('begins links where it is reached from outside', async () => {
    const publicUrl = (manifests: Manifest[]) => readConfig(environment(manifests, 'orchestrator')).PUBLIC_URL;
    const told = await render(merge(FULL, { http: { publicUrl: 'https://elsewhere.example.com/uswarm' } }));
    expect([publicUrl(minimal), publicUrl(full), publicUrl(told)]).toEqual([
      undefined,
      'https://api.example.com',
      'https://elsewhere.example.com/uswarm',
    ]);
  });

  it('has keys of the bucket, and clients at other apps, from the Secrets that are named', async () => {
    const secrets = { objectStorage: { existingSecret: 'bucket' }, integrations: { existingSecret: 'apps' } };
    const { env } = container(await render(merge(FULL, { secrets })), 'uswarm-orchestrator', 'orchestrator');
    const from = (name: string, key: string): object => ({ valueFrom: { secretKeyRef: { name, key } } });
    expect(env).toEqual(
      expect.arrayContaining([
        { name: 'S3_ACCESS_KEY_ID', ...from('bucket', 'access-key-id') },
        { name: 'S3_SECRET_ACCESS_KEY', ...from('bucket', 'secret-access-key') },
        { name: 'INTEGRATION_PROVIDERS', ...from('apps', 'integration-providers') },
        { name: 'INTEGRATION_TOKEN_KEYS', ...from('apps', 'integration-token-keys') },
        { name: 'INTEGRATION_CATALOG_FILE', value: '/etc/uswarm/integrations/integrations.json' },
      ]),
    );
  });

  it('signs calls with the key whose public half runtimes get, and knows the one before in a rotation', () => {
    expect(
      [minimal, full].map((manifests) => callKeys(readConfig(environment(manifests, 'orchestrator'))).length),
    ).toEqual([1, 2]);
  });

  it('migrates the database that it uses', () => {
    const { DATABASE_URL: url } = loadConfig(MigrationConfig, environment(minimal, 'orchestrator', 'migrations'));
    expect(url).toBe(readConfig(environment(minimal, 'orchestrator')).DATABASE_URL);
  });
});

it('the gateway reaches the orchestrator with the key that this knows', () => {
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
  it('starts with the smallest values, and hands on no store', async () => {
    const env = { ...environment(minimal, 'webhook'), POLICY_DIRECTORY: await mountedPolicy(minimal) };
    const { settings, port, database } = await loadWebhookConfig(env);
    expect({ port, database }).toEqual({ port: 8080, database: undefined });
    expect(settings).toMatchObject({
      image: `${REGISTRY}/uswarm/agent-runtime:0.2.0`,
      orchestratorEndpoint: 'http://uswarm-orchestrator.backend.svc.cluster.local:8080',
      mcpEndpoint: 'http://uswarm-searxng-client.backend.svc.cluster.local:8080/mcp',
      callPublicKey: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/),
      stores: [],
      rolloutGate: true,
      pods: { imagePullPolicy: 'IfNotPresent', resources: { requests: { cpu: '50m', memory: '96Mi' } } },
      policy: { runtimeNamespaces: new Set(['userswarms']), sharedEnvSecrets: new Set(['uswarm-model-env']) },
    });
  });

  it('takes over every setting of runtime pods', async () => {
    const env = { ...environment(full, 'webhook'), POLICY_DIRECTORY: await mountedPolicy(full) };
    const { pods, policy } = (await loadWebhookConfig(env)).settings;
    const { runtime } = FULL as { runtime: { pods: object } };
    expect(pods).toMatchObject(runtime.pods);
    expect(policy).toEqual({
      runtimeNamespaces: new Set(['userswarms', 'team-a']),
      imagePrefixes: [`${REGISTRY}/uswarm/agent-runtime`, 'registry.example.com/agents/'],
      sharedEnvSecrets: new Set(['uswarm-model-env']),
      maxResources: { cpu: '8', memory: '16Gi' },
    });
  });

  it('hands on whole groups of stores, with secrets from the Secret that is named', async () => {
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

it('the controller calls the webhook, shows its token, and watches the allowed namespaces', () => {
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

it('the tool server accepts what the orchestrator signs, and the key before', () => {
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
  expect(config.acceptUnlimitedTokens).toBe(true);
});

describe('every variable', () => {
  /** Of Node itself. */
  const nodes = new Set(['NODE_EXTRA_CA_CERTS']);

  it.each([
    ['orchestrator', 'orchestrator', 'orchestrator'],
    ['orchestrator', 'migrations', 'orchestrator'],
    ['realtime-gateway', 'realtime-gateway', 'realtime-gateway'],
    ['webhook', 'webhook', 'uswarm-webhook'],
    ['controller', 'controller', 'uswarm-controller'],
    ['searxng-client', 'searxng-client', 'searxng-client'],
  ])('of %s/%s is one that the service reads', async (owner, name, service) => {
    const manifests = await render(
      merge(FULL, { nonProduction: { e2eBypass: true }, trustedCA: { existingConfigMap: 'ca' } }),
    );
    const folder = repositoryFile(`services/${service}/src`);
    const files = await readdir(folder, { recursive: true });
    const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
    const text = (await Promise.all(sources.map((file) => readFile(join(folder, file), 'utf8')))).join('\n');
    const names = container(manifests, `uswarm-${owner}`, name).env!.map((each) => each.name);
    expect(names).not.toEqual([]);
    expect(names.filter((each) => !nodes.has(each) && !new RegExp(`\\b${each}\\b`).test(text))).toEqual([]);
  });
});
