import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@uswarm/service-kit';
import { MigrationConfig, readConfig } from '@uswarm/orchestrator/config';
import { environment, FULL, renderEnvironments } from './support/environment.js';
import { CHART, container, evaluation, type Manifest, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

// The orchestrator's own configuration reads the environment that the chart renders.

let minimal: Manifest[];
let full: Manifest[];
beforeAll(async () => {
  ({ minimal, full } = await renderEnvironments());
});

describe('the orchestrator', () => {
  it('accepts the environment of the smallest values', () => {
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

  it('receives the configured values', () => {
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
      RATE_TRIGGERS_PER_S: 1,
      RATE_TRIGGERS_BURST: 60,
      OIDC_ISSUERS: [
        {
          issuer: 'https://login.example.com',
          audience: ['app', 'web'],
          authorized_parties: ['android'],
          jwks_uri: 'https://login.example.com/keys',
          id: 'main',
        },
      ],
      OPERATOR_ISSUERS: [
        {
          issuer: 'https://staff.example.com/realms/company',
          audience: 'uswarmctl',
          authorized_parties: ['kubelogin'],
          jwks_uri: 'https://staff.example.com/keys',
          algorithms: ['RS256'],
          rules: [{ claim: 'realm_access.roles', value: 'uswarm-sre', rights: ['show', 'requeue'] }],
        },
      ],
      RUNTIME_DEFAULT_PROVIDER: 'openai',
      RUNTIME_DEFAULT_MODEL: 'opus',
      IDLE_SUSPEND_AFTER_S: 0,
      CODE_RUNNER_ENABLED: true,
      CODE_RUNNER_PROCESSES: 2,
      SCHEDULES_ENABLED: false,
      SCHEDULES_PER_USER: 7,
      SCHEDULE_INTERVAL_S: 1_800,
      SCHEDULES_SPREAD_S: 20,
      TRIGGERS_ENABLED: false,
    });
  });

  it('runs programs of agents only if that is enabled, and then has memory for them', () => {
    expect(readConfig(environment(minimal, 'orchestrator')).CODE_RUNNER_ENABLED).toBe(false);
    const limits = [minimal, full].map(
      (manifests) => container(manifests, 'uswarm-orchestrator', 'orchestrator').resources?.limits,
    );
    expect(limits).toEqual([{ memory: '1Gi' }, { memory: '1536Mi' }]);
  });

  it.each([
    ['the configured provider', { runtime: { defaultProvider: 'openai' } }, 'openai'],
    ['demo for an evaluation with an empty Secret', {}, 'demo'],
    [
      'openai if a Secret with model keys is configured',
      { runtime: { modelEnv: { existingSecret: 'keys' } } },
      'openai',
    ],
    ['demo if runtimes receive no Secret', { runtime: { modelEnv: { enabled: false } } }, 'demo'],
  ])('lists %s in the model catalog', async (_case, values, provider) => {
    const config = readConfig(environment(await render(merge(evaluation, values)), 'orchestrator'));
    expect(config.MODEL_PROVIDER).toBe(provider);
  });

  it('receives an operator key only if its Secret is configured', async () => {
    const operators = merge(evaluation, { secrets: { admin: { existingSecret: 'operators' } } });
    const entry = (manifests: Manifest[]) =>
      container(manifests, 'uswarm-orchestrator', 'orchestrator').env?.find(
        ({ name }: { name: string }) => name === 'ADMIN_API_KEY',
      );
    expect(entry(minimal)).toBeUndefined();
    expect(entry(await render(operators))).toEqual({
      name: 'ADMIN_API_KEY',
      valueFrom: { secretKeyRef: { name: 'operators', key: 'admin-api-key' } },
    });
  });

  it('knows exactly the rights of operators that the schema of the values allows', async () => {
    const schema = JSON.parse(await readFile(`${CHART}/values.schema.json`, 'utf8'));
    const { rules } = schema.properties.operators.properties.issuers.items.properties;
    const rights: string[] = rules.items.properties.rights.items.enum;
    const settings = (right: string) => ({
      ...environment(full, 'orchestrator'),
      OPERATOR_ISSUERS: JSON.stringify([
        { issuer: 'https://a', audience: 'a', rules: [{ claim: 'groups', value: 'sre', rights: [right] }] },
      ]),
    });
    for (const right of rights) expect(readConfig(settings(right)).OPERATOR_ISSUERS).toHaveLength(1);
    expect(() => readConfig(settings('everything'))).toThrow(rights.map((right) => `"${right}"`).join('|'));
  });

  it('stores files of an evaluation in its pod, and otherwise in the bucket', () => {
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
    expect(config).toMatchObject({
      OBJECT_STORE: 's3',
      S3_BUCKET: 'files',
      S3_ENDPOINT: 'https://s3.example.com',
      S3_REGION: 'eu',
      S3_PREFIX: 'a/',
      S3_PATH_STYLE: false,
    });
  });

  it('uses the external URL in links', async () => {
    const publicUrl = (manifests: Manifest[]) => readConfig(environment(manifests, 'orchestrator')).PUBLIC_URL;
    const explicit = await render(merge(FULL, { http: { publicUrl: 'https://elsewhere.example.com/uswarm' } }));
    expect({ minimal: publicUrl(minimal), full: publicUrl(full), explicit: publicUrl(explicit) }).toEqual({
      minimal: undefined,
      full: 'https://api.example.com',
      explicit: 'https://elsewhere.example.com/uswarm',
    });
  });

  it('reads bucket keys and OAuth clients from the configured Secrets', async () => {
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

  it('sends push notifications with Firebase only with a service account, which it reads from the configured Secret', async () => {
    const variables = async (secrets: object) => {
      const { env } = container(await render(merge(FULL, { secrets })), 'uswarm-orchestrator', 'orchestrator');
      return (env ?? []).filter(({ name }) => name.startsWith('PUSH_'));
    };
    const secretKeyRef = { name: 'firebase', key: 'push-service-account' };
    expect(await variables({})).toEqual([]);
    expect(await variables({ push: { existingSecret: 'firebase' } })).toEqual([
      { name: 'PUSH_SERVICE_ACCOUNT', valueFrom: { secretKeyRef } },
      { name: 'PUSH_PREVIEW', value: 'false' },
    ]);
  });

  it('sends push notifications with Apple and to browsers with the keys of the configured Secret', async () => {
    const secrets = { push: { existingSecret: 'push', serviceAccount: '', apnsKey: 'p8', webPushKey: 'vapid' } };
    const push = {
      apns: { keyId: 'ABC123DEFG', teamId: 'DEF123GHIJ', topic: 'com.example.swarm' },
      web: { contact: 'mailto:ops@example.com', privateHosts: ['push.internal', '10.0.0.5'] },
    };
    const rendered = await render(merge(FULL, { secrets, orchestrator: { push } }));
    const { env } = container(rendered, 'uswarm-orchestrator', 'orchestrator');
    expect((env ?? []).filter(({ name }) => /^(PUSH|APNS|WEB_PUSH)_/.test(name))).toEqual([
      { name: 'APNS_KEY', valueFrom: { secretKeyRef: { name: 'push', key: 'p8' } } },
      { name: 'APNS_KEY_ID', value: 'ABC123DEFG' },
      { name: 'APNS_TEAM_ID', value: 'DEF123GHIJ' },
      { name: 'APNS_TOPIC', value: 'com.example.swarm' },
      { name: 'APNS_ENVIRONMENT', value: 'production' },
      { name: 'WEB_PUSH_PRIVATE_KEY', valueFrom: { secretKeyRef: { name: 'push', key: 'vapid' } } },
      { name: 'WEB_PUSH_CONTACT', value: 'mailto:ops@example.com' },
      { name: 'WEB_PUSH_PRIVATE_HOSTS', value: 'push.internal,10.0.0.5' },
      { name: 'PUSH_PREVIEW', value: 'false' },
    ]);
  });

  it('reads the models from the configured ConfigMap', async () => {
    const file = async (values: object) => environment(await render(values), 'orchestrator')['MODELS_FILE'];
    expect({ full: await file(FULL), evaluation: await file(evaluation) }).toEqual({
      full: '/etc/uswarm/models/models.json',
      evaluation: undefined,
    });
  });

  it('reads the agents of new workspaces from the configured ConfigMap', async () => {
    const file = async (values: object) => environment(await render(values), 'orchestrator')['AGENTS_FILE'];
    expect({ full: await file(FULL), evaluation: await file(evaluation) }).toEqual({
      full: '/etc/uswarm/agents/agents.json',
      evaluation: undefined,
    });
  });

  it('has one call key, and two during a rotation', () => {
    const keys = [minimal, full].map((manifests) => {
      const { CALL_PRIVATE_KEY: current, CALL_PRIVATE_KEY_PREVIOUS: previous } = readConfig(
        environment(manifests, 'orchestrator'),
      );
      return [current, previous].filter((key) => key !== undefined).length;
    });
    expect(keys).toEqual([1, 2]);
  });

  it('migrates its own database', () => {
    const { DATABASE_URL: url } = loadConfig(MigrationConfig, environment(minimal, 'orchestrator', 'migrations'));
    expect(url).toBe(readConfig(environment(minimal, 'orchestrator')).DATABASE_URL);
  });
});
