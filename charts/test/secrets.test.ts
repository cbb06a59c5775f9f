import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  type Container,
  containersOf,
  evaluation,
  external,
  find,
  type Manifest,
  ofKind,
  podTemplates,
  rejection,
  render,
} from './support/rendering.js';

const MESSAGE = /^Required: [^\n]+\. Name existing Secrets in namespace backend, or [^\n]+\.$/;
/** Secrets for optional features. */
const OPTIONAL = [
  'admin',
  'databaseRead',
  'e2e',
  'integrations',
  'migrations',
  'modelProviders',
  'objectStorage',
  'push',
  'search',
];
const without = (name: string): object => ({ ...external, secrets: { ...external.secrets, [name]: {} } });

/** Secrets that the release's pods refer to, by name. */
function referenced(manifests: readonly Manifest[]): Set<string> {
  return new Set(
    podTemplates(manifests).flatMap((pod) => [
      ...containersOf(pod).flatMap(({ env = [] }) => env.flatMap((each) => each.valueFrom?.secretKeyRef?.name ?? [])),
      ...(pod.spec.volumes ?? []).flatMap(
        ({ secret }: { secret?: { secretName: string } }) => secret?.secretName ?? [],
      ),
    ]),
  );
}

describe('existing Secrets', () => {
  it('are sufficient: the chart generates no Secret', async () => {
    const manifests = await render({
      ...external,
      nonProduction: { e2eBypass: true, e2eBypassBesideKeptData: true },
    });
    expect(ofKind(manifests, 'Secret')).toEqual([]);
    expect(referenced(manifests)).toEqual(
      new Set(Object.keys(external.secrets).map((name) => `my-${name.toLowerCase()}`)),
    );
  });

  it('contain a database role for migrations that the orchestrator container never receives', async () => {
    const migrations = { existingSecret: 'owner', servingRole: 'uswarm_serving' };
    const manifests = await render({ ...external, secrets: { ...external.secrets, migrations } });
    const template = podTemplates(manifests).find(({ owner }) => owner === 'uswarm-orchestrator');
    const settings = containersOf(template as never).map(({ name, env = [] }) => ({
      name,
      urls: env
        .filter(({ name: variable }) => /DATABASE_(URL|SERVING_ROLE)$/.test(variable))
        .map(({ name: variable, value, valueFrom }) => [variable, value ?? valueFrom?.secretKeyRef?.name]),
    }));
    expect(settings).toEqual(
      expect.arrayContaining([
        { name: 'orchestrator', urls: [['DATABASE_URL', 'my-database']] },
        {
          name: 'migrations',
          urls: [
            ['DATABASE_URL', 'my-database'],
            ['MIGRATION_DATABASE_URL', 'owner'],
            ['DATABASE_SERVING_ROLE', 'uswarm_serving'],
          ],
        },
      ]),
    );
  });

  it('can contain keys of named operators, which replace the single operator key', async () => {
    const admin = { existingSecret: 'operators', operatorKeys: 'keys' };
    const manifests = await render({ ...external, secrets: { ...external.secrets, admin } });
    const settings = podTemplates(manifests)
      .flatMap((pod) => containersOf(pod).flatMap(({ env = [] }) => env))
      .filter(({ name }) => name.startsWith('ADMIN_API_KEY'));
    expect(settings).toEqual([
      { name: 'ADMIN_API_KEYS', valueFrom: { secretKeyRef: { name: 'operators', key: 'keys' } } },
    ]);
  });

  it('are passed only to the components that need them, by the configured key', async () => {
    const keys = { callKey: { existingSecret: 'call', privateKey: 'tls.key', publicKey: 'tls.crt' } };
    const manifests = await render({ ...external, secrets: { ...external.secrets, ...keys } });
    const holders = (secret: string, key: string): string[] =>
      podTemplates(manifests)
        .filter((pod) =>
          containersOf(pod).some(({ env = [] }) =>
            env.some(({ valueFrom }) => valueFrom?.secretKeyRef?.name === secret && valueFrom.secretKeyRef.key === key),
          ),
        )
        .map(({ owner }) => owner.replace('uswarm-', ''))
        .toSorted();
    expect(holders('call', 'tls.key')).toEqual(['orchestrator']);
    expect(holders('call', 'tls.crt')).toEqual(['webhook']);
    expect(holders('my-database', 'database-url')).toEqual(['orchestrator']);
    expect(holders('my-realtime', 'realtime-redis-url')).toEqual(['orchestrator', 'realtime-gateway']);
    expect(holders('my-mcpsigning', 'mcp-signing-key')).toEqual(['orchestrator', 'searxng-client']);
    expect(holders('my-modeltoken', 'model-token-signing-key')).toEqual(['model-gateway', 'orchestrator']);
    expect(holders('my-modelproviders', 'OPENAI_API_KEY')).toEqual(['model-gateway']);
    expect(holders('my-internalapi', 'internal-api-key')).toEqual(['orchestrator', 'realtime-gateway']);
    expect(holders('my-modelcalls', 'model-calls-key')).toEqual(['model-gateway', 'orchestrator']);
    expect(holders('my-sync', 'sync-token')).toEqual(['controller', 'test', 'webhook']);
  });

  it('can contain two valid signing keys during a rotation', async () => {
    const mcpSigning = { existingSecret: 'mcp', key: 'new', previousKey: 'old' };
    const manifests = await render({ ...external, secrets: { ...external.secrets, mcpSigning } });
    const env = find(manifests, 'Deployment', 'uswarm-searxng-client')['spec'].template.spec.containers[0].env;
    const from = (key: string): object => ({ valueFrom: { secretKeyRef: { name: 'mcp', key } } });
    expect(env).toContainEqual({ name: 'SVC_MCP_SIGNING_KEY', ...from('new') });
    expect(env).toContainEqual({ name: 'SVC_MCP_SIGNING_KEY_PREVIOUS', ...from('old') });
  });

  it('can contain two keys of model tokens during a rotation, of which only the model gateway receives the previous one', async () => {
    const modelToken = { existingSecret: 'tokens', key: 'new', previousKey: 'old' };
    const manifests = await render({ ...external, secrets: { ...external.secrets, modelToken } });
    const keysOf = (name: string) =>
      (find(manifests, 'Deployment', name)['spec'].template.spec.containers[0] as Container)
        .env!.filter((each) => each.name.startsWith('MODEL_TOKEN'))
        .map((each) => [each.name, each.valueFrom?.secretKeyRef?.key]);
    expect(keysOf('uswarm-orchestrator')).toEqual([['MODEL_TOKEN_SIGNING_KEY', 'new']]);
    expect(keysOf('uswarm-model-gateway')).toEqual([
      ['MODEL_TOKEN_SIGNING_KEY', 'new'],
      ['MODEL_TOKEN_SIGNING_KEY_PREVIOUS', 'old'],
    ]);
  });

  it('can contain two call keys during a rotation, of which only the orchestrator receives the previous one', async () => {
    const callKey = { existingSecret: 'call', privateKey: 'new', publicKey: 'new.pub', previousPrivateKey: 'old' };
    const manifests = await render({ ...external, secrets: { ...external.secrets, callKey } });
    const env = (name: string) => find(manifests, 'Deployment', name)['spec'].template.spec.containers[0].env;
    const from = (key: string): object => ({ valueFrom: { secretKeyRef: { name: 'call', key } } });
    expect(env('uswarm-orchestrator')).toContainEqual({ name: 'CALL_PRIVATE_KEY', ...from('new') });
    expect(env('uswarm-orchestrator')).toContainEqual({ name: 'CALL_PRIVATE_KEY_PREVIOUS', ...from('old') });
    expect(env('uswarm-webhook')).toContainEqual({ name: 'USWARM_CALL_PUBLIC_KEY', ...from('new.pub') });
  });

  it('never occur as literals in rendered manifests', async () => {
    const literals = podTemplates(await render(evaluation)).flatMap((pod) =>
      containersOf(pod).flatMap(({ env = [] }) =>
        env.flatMap(({ name, value }) => (value === undefined ? [] : [name])),
      ),
    );
    expect(literals.length).toBeGreaterThan(30);
    const secret = literals.filter((name) => /PASSWORD|TOKEN$|_KEY$|_SECRET$|DATABASE_URL|REDIS_URL/.test(name));
    // Its value is a Secret name.
    expect([...new Set(secret)]).toEqual(['RUNTIME_ENV_SECRET']);
  });
});

describe('a missing Secret', () => {
  it.each(Object.keys(external.secrets).filter((name) => ![...OPTIONAL, 'signature'].includes(name)))(
    'is named in the error (%s)',
    async (name) => {
      const sentence = await rejection(without(name));
      expect(sentence).toMatch(MESSAGE);
      expect(sentence).toContain(`Required: secrets.${name}.existingSecret.`);
      expect(sentence).toContain('evaluation.enabled=true');
    },
  );

  it('is listed with all other missing Secrets', async () => {
    const sentence = await rejection({ oidc: evaluation.oidc, modelGateway: external.modelGateway });
    expect(sentence).toMatch(MESSAGE);
    const listed = [...sentence.matchAll(/secrets\.(\w+)\.existingSecret/g)].map(([, name]) => name);
    expect(listed).toEqual(
      Object.keys(external.secrets)
        .filter((name) => !OPTIONAL.includes(name))
        .toSorted(),
    );
  });

  it('is required only if a feature uses it', async () => {
    await expect(render({ ...without('signature'), signature: { mode: 'off' } })).resolves.not.toEqual([]);
    expect(await rejection(without('signature'))).toContain('secrets.signature.existingSecret');
    await expect(render(without('e2e'))).resolves.not.toEqual([]);
    const bypass = { nonProduction: { e2eBypass: true, e2eBypassBesideKeptData: true } };
    expect(await rejection({ ...without('e2e'), ...bypass })).toContain('secrets.e2e.existingSecret');
  });

  it.each(['modelToken', 'modelCalls'])('is not required without a model gateway (%s)', async (name) => {
    const values = { ...without(name), modelGateway: {}, runtime: { modelEnv: { enabled: false } } };
    expect(ofKind(await render(values), 'Deployment')).not.toEqual([]);
  });
});

it('rejects values without an issuer', async () => {
  expect(await rejection({ ...evaluation, oidc: {} })).toMatch(/^oidc\.issuers is required: .*\.$/);
});

describe('an audience of operators', () => {
  const operators = (issuer: string, audience: string | string[]) => ({
    ...evaluation,
    oidc: { issuers: [{ issuer: 'https://login.example.com', audience: ['app', 'web'] }] },
    operators: { issuers: [{ issuer, audience, rules: [{ claim: 'groups', value: 'sre', rights: ['show'] }] }] },
  });

  it.each(['web', ['uswarmctl', 'web']])('cannot be one of users of the same issuer: %j', async (audience) => {
    expect(await rejection(operators('https://login.example.com', audience))).toBe(
      'operators.issuers: web is an audience of https://login.example.com in oidc.issuers. Use a separate client for operators.',
    );
  });

  it('can be another one, or one of another issuer', async () => {
    for (const values of [
      operators('https://login.example.com', 'uswarmctl'),
      operators('https://staff.example.com', 'web'),
    ]) {
      await expect(render(values)).resolves.not.toEqual([]);
    }
  });
});

describe('an evaluation', () => {
  it('creates Postgres, Valkey, their Secret and an empty Secret for model keys', async () => {
    const manifests = await render(evaluation);
    const secrets = ofKind(manifests, 'Secret').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(secrets.toSorted()).toEqual(['backend/uswarm-evaluation', 'userswarms/uswarm-model-env']);
    expect(find(manifests, 'Secret', 'uswarm-model-env')).not.toHaveProperty('data');
    expect(find(manifests, 'Secret', 'uswarm-model-env')).not.toHaveProperty('stringData');
    expect(find(manifests, 'PersistentVolumeClaim', 'uswarm-postgres', 'backend')['spec'].accessModes).toEqual([
      'ReadWriteOnce',
    ]);
  });

  it('generates consistent keys that differ between installations', async () => {
    const generated = async (): Promise<Record<string, string>> =>
      find(await render(evaluation), 'Secret', 'uswarm-evaluation')['stringData'];
    const [keys, others] = [await generated(), await generated()];
    const publicKey = createPublicKey(keys['call-public-key']!);
    expect(publicKey.asymmetricKeyType).toBe('ed25519');
    const signature = sign(null, Buffer.from('x'), createPrivateKey(keys['call-private-key']!));
    expect(verify(null, Buffer.from('x'), publicKey, signature)).toBe(true);

    expect(keys['database-url']).toBe(
      `postgres://uswarm:${keys['postgres-password']}@uswarm-postgres.backend.svc.cluster.local:5432/uswarm`,
    );
    expect(keys['realtime-redis-url']).toBe(
      `redis://:${keys['valkey-password']}@uswarm-valkey.backend.svc.cluster.local:6379`,
    );
    expect(keys['valkey.conf']).toContain(`requirepass ${keys['valkey-password']}\n`);
    for (const [name, value] of Object.entries(keys))
      expect({ name, value }).not.toEqual({ name, value: others[name] });
  });

  it('omits stores that already exist', async () => {
    const secrets = { database: { existingSecret: 'db' }, realtime: { existingSecret: 'bus' } };
    const manifests = await render({ ...evaluation, secrets });
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((name) => /postgres|valkey/.test(name))).toEqual([]);
    expect(referenced(manifests)).toEqual(new Set(['db', 'bus', 'uswarm-evaluation']));
  });

  it('works without a PersistentVolume', async () => {
    const values = {
      ...evaluation,
      evaluation: { enabled: true, postgres: { persistence: { enabled: false, size: '2Gi' } } },
    };
    const manifests = await render(values);
    expect(ofKind(manifests, 'PersistentVolumeClaim')).toEqual([]);
    const { volumes } = find(manifests, 'Deployment', 'uswarm-postgres')['spec'].template.spec;
    expect(volumes).toContainEqual({ name: 'data', emptyDir: { sizeLimit: '2Gi' } });
  });
});
