import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CALL_KEY, syncRequest, testFacts, userSwarm } from '../../test/webhook-input.js';
import { render } from '../render/render.js';
import { loadWebhookConfig } from './config.js';

let policy: string;
beforeAll(async () => {
  policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n\n  other  \n');
  await writeFile(join(policy, 'imagePrefixes'), '');
  await writeFile(join(policy, 'sharedEnvSecrets'), 'uswarm-model-env');
});
afterAll(() => rm(policy, { recursive: true }));

const environment = (overrides: Record<string, string> = {}): Record<string, string> => ({
  SYNC_TOKEN: 'token-'.repeat(6),
  POLICY_DIRECTORY: policy,
  USWARM_CALL_PUBLIC_KEY: CALL_KEY,
  SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:1',
  SVC_ORCHESTRATOR_ENDPOINT: 'http://uswarm-orchestrator.backend.svc:8082',
  SVC_MCP_ENDPOINT: 'http://uswarm-searxng-client.backend.svc:8080/mcp',
  ...overrides,
});

const DATABASE = {
  SVC_DATABASE_HOST: 'db.test',
  SVC_DATABASE_PORT: '5432',
  SVC_DATABASE_NAME: 'runtimes',
  SVC_DATABASE_USER: 'runtime',
  SVC_DATABASE_PASSWORD: 'the-password-of-the-database',
  SVC_DATABASE_SSLMODE: 'verify-full',
};

const SPACES = {
  SVC_SPACES_ENDPOINT: 'https://s3.test',
  SVC_SPACES_REGION: 'eu',
  SVC_SPACES_BUCKET: 'runtimes',
  SVC_SPACES_KEY: 'the-key-of-the-spaces',
  SVC_SPACES_SECRET: 'the-secret-of-the-spaces',
};

const configError = async (overrides: Record<string, string>): Promise<string> =>
  loadWebhookConfig(environment(overrides)).then(
    () => 'the configuration was accepted',
    (error: Error) => error.message,
  );

describe('webhook configuration', () => {
  it('HOOK-003: the required variables are sufficient; the port defaults to 8080 and the policy is read', async () => {
    const { settings, database, port, opsPort } = await loadWebhookConfig(environment());
    expect({ port, opsPort, database, stores: settings.stores }).toEqual({
      port: 8080,
      opsPort: 8081,
      database: undefined,
      stores: [],
    });
    expect(settings.policy).toEqual({
      runtimeNamespaces: new Set(['userswarms', 'other']),
      imagePrefixes: [],
      sharedEnvSecrets: new Set(['uswarm-model-env']),
      maxResources: {},
    });
  });

  it('removes a trailing line break from SYNC_TOKEN', async () => {
    const { SYNC_TOKEN = '' } = environment();
    expect((await loadWebhookConfig(environment({ SYNC_TOKEN: `${SYNC_TOKEN}\n` }))).syncToken).toBe(SYNC_TOKEN);
  });

  it.each([
    'SYNC_TOKEN',
    'USWARM_CALL_PUBLIC_KEY',
    'SVC_AGENT_RUNTIME_IMAGE',
    'SVC_ORCHESTRATOR_ENDPOINT',
    'SVC_MCP_ENDPOINT',
  ])('requires %s', async (name) => {
    expect(await configError({ [name]: '' })).toBe(`${name} is not set`);
  });

  it.each([
    ['SYNC_TOKEN', 'tooshort-9f3c'],
    ['USWARM_CALL_PUBLIC_KEY', 'nokey-9f3c'],
    ['SVC_AGENT_RUNTIME_IMAGE', 'two words-9f3c'],
    ['SVC_ORCHESTRATOR_ENDPOINT', 'nourl-9f3c'],
    ['SVC_MCP_ENDPOINT', 'http://user:password-9f3c@mcp.test'],
    ['MODEL_GATEWAY_URL', 'http://user:password-9f3c@gateway.test'],
    ['MODEL_PROVIDER', 'not_9f3c'],
    ['HTTP_PORT', '9f3c'],
    ['RUNTIME_PODS', '{9f3c'],
    ['RUNTIME_PODS', '{"imagePullPolicy":"9f3c"}'],
    ['RUNTIME_PODS', '{"resources":{"limits":{"cpu":"9f3c"}}}'],
    ['RUNTIME_PODS', '{"extraEnv":[{"name":"USWARM_MCP_TOKEN","value":"9f3c"}]}'],
    ['RUNTIME_PODS', '{"labels":{"app.kubernetes.io/instance":"9f3c"}}'],
    ['RUNTIME_PODS', '{"hostNetwork":"9f3c"}'],
    ['RUNTIME_PODS', '{"proxy":{"https":"http://user:9f3c@proxy.test","noProxy":""}}'],
    ['RUNTIME_PODS', '{"trustedCA":{"configMap":"Not_9f3c","key":"ca.crt"}}'],
    ['SVC_REDIS_ADDR', 'two words-9f3c'],
  ])('rejects a malformed %s without printing its value', async (name, value) => {
    const message = await configError({ [name]: value });
    expect(message).toContain(name);
    expect(message).not.toContain('9f3c');
  });

  it.each([
    ['SVC_DATABASE_', DATABASE],
    ['SVC_SPACES_', SPACES],
  ])('requires either all or none of the variables %s*', async (group, variables) => {
    for (const name of Object.keys(variables)) {
      const message = await configError({ ...variables, [name]: '' });
      expect(message).toBe(`${group}* is incomplete: ${name} missing`);
    }
    const { settings } = await loadWebhookConfig(environment(variables));
    expect(settings.stores.map(({ name }) => name)).toEqual(Object.keys(variables));
  });

  it.each([
    ['SVC_DATABASE_PORT', 'a-9f3c'],
    ['SVC_DATABASE_PORT', '70000'],
    ['SVC_DATABASE_SSLMODE', 'perhaps-9f3c'],
  ])('rejects a malformed %s of the database group without printing its value', async (name, value) => {
    const message = await configError({ ...DATABASE, [name]: value });
    expect(message).toContain(`${name} is not valid`);
    expect(message).not.toContain('9f3c');
  });

  it('has a model gateway only if its address is set', async () => {
    const gatewayOf = async (variables: Record<string, string>) =>
      (await loadWebhookConfig(environment(variables))).settings.modelGateway;
    const url = 'http://uswarm-model-gateway.backend.svc:8080';
    expect(await gatewayOf({ MODEL_PROVIDER: 'openai' })).toBeUndefined();
    expect(await gatewayOf({ MODEL_PROVIDER: 'openai', MODEL_GATEWAY_URL: url })).toEqual({ url, provider: 'openai' });
  });

  it('reads the call key from a certificate or from one line, and rejects a private key', async () => {
    const oneLine = CALL_KEY.replaceAll('\n', '\\n');
    const { settings } = await loadWebhookConfig(environment({ USWARM_CALL_PUBLIC_KEY: oneLine }));
    expect(settings.callPublicKey).toBe(CALL_KEY);
    const certified = await loadWebhookConfig(environment({ USWARM_CALL_PUBLIC_KEY: CERTIFICATE }));
    expect(certified.settings.callPublicKey).toMatch(/^-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/=]{60}\n/);
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(await configError({ USWARM_CALL_PUBLIC_KEY: pem })).toContain('USWARM_CALL_PUBLIC_KEY');
  });

  it('rejects a policy without a runtime namespace or with a malformed list', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
    expect(await configError({ POLICY_DIRECTORY: folder })).toContain('allows no runtime namespace');
    await writeFile(join(folder, 'runtimeNamespaces'), 'userswarms\nNot A Namespace\n');
    expect(await configError({ POLICY_DIRECTORY: folder })).toContain('entry 2 of runtimeNamespaces');
    await rm(folder, { recursive: true });
  });
});

describe('secrets and providers of the configuration', () => {
  it('no child contains a secret of the environment', async () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9]{32,48}$/);
    const secrets = fc.record({
      sync: secret,
      password: secret,
      redis: secret,
      key: secret,
      spaces: secret,
    });
    await fc.assert(
      fc.asyncProperty(secrets, async ({ sync, password, redis, key, spaces }) => {
        const config = await loadWebhookConfig(
          environment({
            ...DATABASE,
            ...SPACES,
            SYNC_TOKEN: sync,
            SVC_DATABASE_PASSWORD: password,
            SVC_REDIS_ADDR: `redis://user:${redis}@valkey.test:6379`,
            SVC_SPACES_KEY: key,
            SVC_SPACES_SECRET: spaces,
          }),
        );
        const parent = userSwarm();
        const response = render(syncRequest(parent), config.settings, await testFacts());
        const text = JSON.stringify(response);
        for (const value of [sync, password, redis, key, spaces]) expect(text).not.toContain(value);
        for (const name of ['SVC_DATABASE_PASSWORD', 'SVC_REDIS_ADDR', 'SVC_SPACES_KEY', 'SVC_SPACES_SECRET']) {
          expect(text).toContain(`"secretKeyRef":{"name":"uswarm-runtime-stores","key":"${name}"}`);
        }
      }),
      { numRuns: 25 },
    );
  });

  it.each([
    ['those of the default image', {}, ['demo', 'openai', 'anthropic']],
    ['those of RUNTIME_PROVIDERS', { RUNTIME_PROVIDERS: 'demo, anthropic' }, ['demo', 'anthropic']],
  ])('the model providers of runtimes are %s', async (_what, env, providers) => {
    const { settings } = await loadWebhookConfig(environment(env));
    expect([...settings.providers]).toEqual(providers);
  });
});

/** Self-signed with an Ed25519 key that is no longer stored. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBQDCB86ADAgECAhRoCEoGiJ9P5pjoUMS9ArJfmexv0zAFBgMrZXAwFjEUMBIG
A1UEAwwLdXN3YXJtLWNhbGwwHhcNMjYxMTIxMTUyMjI4WhcNMzYxMTE4MTUyMjI4
WjAWMRQwEgYDVQQDDAt1c3dhcm0tY2FsbDAqMAUGAytlcAMhAL+9oXpV8UnPdx+P
zElJW5w/pEYpN58iDh9H7SJEkNtYo1MwUTAdBgNVHQ4EFgQUoZK3lCxh1cI6+s4T
Ha1uFjL73DUwHwYDVR0jBBgwFoAUoZK3lCxh1cI6+s4THa1uFjL73DUwDwYDVR0T
AQH/BAUwAwEB/zAFBgMrZXADQQCuu1yy4fdLWJcGsl++MGUYkeuNDTCRYiBRH94h
xEhLWTTqBzx4sU+GlYx4w56lwt0zkvh7jV4YWritTpH1j9UP
-----END CERTIFICATE-----
`;
