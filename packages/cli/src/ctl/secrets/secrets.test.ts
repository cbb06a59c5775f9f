import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { PRODUCTION_SECRETS } from './production-secrets.js';
import { createProductionSecrets } from './secrets.js';

const RELEASE = '/api/v1/namespaces/backend/secrets';
const RUNTIMES = '/api/v1/namespaces/userswarms/secrets';
const MARK = 'value-of-the-test';

let folder: string;
let api: ScriptedApi;
let env: Record<string, string>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-secrets-'));
  api = await startScriptedApi();
  await writeFile(join(folder, 'kubeconfig'), api.config.exportConfig());
  await writeFile(join(folder, 'providers.json'), `{"google": {"client_secret": "${MARK}"}}\n`);
  env = {
    KUBECONFIG: join(folder, 'kubeconfig'),
    USWARM_DATABASE_URL: `postgres://uswarm:${MARK}@db.example.com/uswarm`,
    USWARM_REALTIME_REDIS_URL: `rediss://uswarm:${MARK}@valkey.example.com`,
    USWARM_FILES_ACCESS_KEY_ID: MARK,
    USWARM_FILES_SECRET_ACCESS_KEY: MARK,
    USWARM_OPENAI_API_KEY: MARK,
    USWARM_INTEGRATION_PROVIDERS_FILE: join(folder, 'providers.json'),
    USWARM_REGISTRY_SERVER: 'registry.example.com',
    USWARM_REGISTRY_USERNAME: 'puller',
    USWARM_REGISTRY_PASSWORD: MARK,
    USWARM_RUNTIME_SPACES_KEY: MARK,
    USWARM_RUNTIME_SPACES_SECRET: MARK,
  };
});
afterEach(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

const command = {
  name: 'secrets create',
  namespace: 'backend',
  runtimeNamespace: 'userswarms',
  release: 'uswarm',
  // The other test of certificates.
  skip: ['uswarm-tls'],
  dryRun: false,
  out: undefined,
  kubeconfig: undefined,
  context: undefined,
} as const;
const create = (more: object = {}) => createProductionSecrets({ ...command, ...more }, env, undefined);
const values = (collection: string, name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries((api.get(collection, name)?.['data'] ?? {}) as Record<string, string>).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString(),
    ]),
  );

describe('uswarmctl secrets create', () => {
  it('creates all Secrets and both namespaces, of which Helm can adopt that of the runtimes', async () => {
    const { text, partial } = await create();
    expect(partial).toBe(false);
    const names = PRODUCTION_SECRETS.map(({ name }) => name).filter((name) => name !== 'uswarm-tls');
    expect(api.names(RELEASE).toSorted()).toEqual(names.toSorted());
    expect(api.names(RUNTIMES).toSorted()).toEqual(['registry', 'uswarm-runtime-stores']);
    expect(text.split('\n')).toContain('created userswarms/registry');
    expect(api.get('/api/v1/namespaces', 'backend')?.metadata.labels).toBeUndefined();
    expect(api.get('/api/v1/namespaces', 'userswarms')?.metadata).toMatchObject({
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': 'uswarm', 'meta.helm.sh/release-namespace': 'backend' },
    });
  });

  it('contains what the environment and the files have, without a trailing newline', async () => {
    await create();
    expect(values(RELEASE, 'uswarm-database')).toEqual({ url: env['USWARM_DATABASE_URL'] });
    expect(values(RELEASE, 'uswarm-integrations')).toMatchObject({
      'integration-providers': `{"google": {"client_secret": "${MARK}"}}`,
    });
    const { auths } = JSON.parse(values(RUNTIMES, 'registry')['.dockerconfigjson']!);
    const auth = Buffer.from(`puller:${MARK}`).toString('base64');
    expect(auths).toEqual({ 'registry.example.com': { username: 'puller', password: MARK, auth } });
  });

  it('prints no value', async () => {
    const { text, json } = await create();
    const printed = text + JSON.stringify(json);
    expect(printed).not.toContain(MARK);
    for (const key of Object.values(values(RELEASE, 'uswarm-keys'))) expect(printed).not.toContain(key);
  });

  it('generates a different value for each key', async () => {
    await create();
    const keys = Object.values(values(RELEASE, 'uswarm-keys')).map((key) => key.replace('k1:', ''));
    expect(new Set(keys).size).toBe(9);
    for (const key of keys) expect(key).toMatch(/^[\da-f]{64}$/);
  });

  it('keeps existing Secrets, and then needs no values', async () => {
    await create();
    const before = values(RELEASE, 'uswarm-keys');
    const writes = api.writes().length;
    env = { KUBECONFIG: env['KUBECONFIG']! };
    const { text, partial } = await create();
    expect({ partial, changed: api.writes().length - writes }).toEqual({ partial: false, changed: 0 });
    expect(text).not.toContain('created');
    expect(values(RELEASE, 'uswarm-keys')).toEqual(before);
  });

  it('copies a Secret that only the namespace of the runtimes lacks', async () => {
    await create();
    api.remove(RUNTIMES, 'registry');
    env = { KUBECONFIG: env['KUBECONFIG']! };
    expect((await create()).text).toContain('created userswarms/registry');
    expect(values(RUNTIMES, 'registry')).toEqual(values(RELEASE, 'registry'));
  });

  it('reports the keys that an existing Secret does not have, and does not change it', async () => {
    const old = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'uswarm-files' },
      data: { 'access-key-id': 'eA==' },
    };
    api.put(RELEASE, old as KubernetesObject);
    const { text, partial } = await create();
    expect(partial).toBe(true);
    expect(text).toContain('kept backend/uswarm-files, without secret-access-key: add or delete it');
    expect(values(RELEASE, 'uswarm-files')).toEqual({ 'access-key-id': 'x' });
  });

  it('keeps a Secret that someone else creates in the meantime', async () => {
    const others = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'uswarm-keys' },
      data: { 'cursor-key': 'eA==' },
    };
    api.script(({ method, path }) => {
      if (method === 'POST' && path === RELEASE) api.put(RELEASE, others as KubernetesObject);
      return undefined;
    });
    expect((await create()).text).toContain('kept backend/uswarm-keys, without internal-api-key, ');
    expect(values(RELEASE, 'uswarm-keys')).toEqual({ 'cursor-key': 'x' });
  });

  it('names every missing value, before it creates anything', async () => {
    delete env['USWARM_OPENAI_API_KEY'];
    env['USWARM_DATABASE_URL'] = '';
    await expect(create()).rejects.toThrow(/^Not set: USWARM_DATABASE_URL, USWARM_OPENAI_API_KEY\. /);
    expect(api.writes()).toEqual([]);
  });

  it('asks for missing values at a terminal, and shows only answers that are not secret', async () => {
    delete env['USWARM_OPENAI_API_KEY'];
    delete env['USWARM_REGISTRY_USERNAME'];
    delete env['USWARM_INTEGRATION_PROVIDERS_FILE'];
    const asked: [string, boolean][] = [];
    const ask = async (question: string, hidden: boolean): Promise<string> => {
      asked.push([question, hidden]);
      return question.startsWith('file with') ? join(folder, 'providers.json') : 'answer';
    };
    await createProductionSecrets(command, env, ask);
    expect(asked).toEqual([
      ['API key of the model provider: ', true],
      ['file with OAuth clients of integrations: ', false],
      ['user name at the image registry: ', false],
    ]);
    expect(values(RELEASE, 'uswarm-model-providers')).toEqual({ OPENAI_API_KEY: 'answer' });
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a database of another kind',
      { USWARM_DATABASE_URL: 'mysql://db' },
      /^USWARM_DATABASE_URL must be a URL with postgres/,
    ],
    ['blanks', { USWARM_OPENAI_API_KEY: ' ' }, /^USWARM_OPENAI_API_KEY is empty\.$/],
    [
      'a variable and a file',
      { USWARM_INTEGRATION_PROVIDERS: '{}' },
      /PROVIDERS and USWARM_INTEGRATION_PROVIDERS_FILE are both set/,
    ],
    [
      'a missing file',
      { USWARM_INTEGRATION_PROVIDERS_FILE: '/nonexistent' },
      /^\/nonexistent cannot be read \(ENOENT\)\.$/,
    ],
    [
      'a file with other content',
      { USWARM_INTEGRATION_PROVIDERS_FILE: '/dev/null' },
      /^USWARM_INTEGRATION_PROVIDERS is empty/,
    ],
    ['no cluster', { KUBECONFIG: '/nonexistent' }, /^No cluster selected: /],
  ])('fails with one sentence for %s', async (_what, wrong, sentence) => {
    Object.assign(env, wrong);
    const failure = await create().catch((error: Error) => error);
    expect(failure).toMatchObject({ message: expect.stringMatching(sentence) });
    expect((failure as Error).message).not.toContain(MARK);
    expect(api.writes()).toEqual([]);
  });

  it('rejects a certificate that is not PEM', async () => {
    Object.assign(env, { USWARM_TLS_CERTIFICATE: 'x', USWARM_TLS_PRIVATE_KEY: 'x' });
    await expect(create({ skip: [] })).rejects.toThrow('USWARM_TLS_CERTIFICATE must be a certificate in PEM.');
  });

  it('rejects a Secret to skip that it does not create', async () => {
    await expect(create({ skip: ['uswarm-cert'] })).rejects.toThrow(
      /^uswarm-cert is not one of the Secrets: uswarm-database, /,
    );
  });

  it('explains a refusal of the API server', async () => {
    api.script(({ method }, response) => {
      if (method === 'GET') return undefined;
      response
        .writeHead(403)
        .end(JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'secrets is forbidden' }));
      return true;
    });
    await expect(create()).rejects.toThrow('The API server refused: secrets is forbidden.');
  });

  it('works for someone who may not read namespaces', async () => {
    api.script(({ path }, response) => {
      if (path !== '/api/v1/namespaces/backend' && path !== '/api/v1/namespaces/userswarms') return undefined;
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'forbidden' }));
      return true;
    });
    expect((await create()).text).toContain('created backend/uswarm-keys');
  });

  it('describes the Secrets with --dry-run, without cluster and values', async () => {
    env = {};
    const { text } = await create({ dryRun: true });
    const { kind, items } = JSON.parse(text);
    expect(kind).toBe('List');
    expect(items).toContainEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'uswarm-integrations', namespace: 'backend' },
      type: 'Opaque',
      stringData: {
        'integration-providers': '<USWARM_INTEGRATION_PROVIDERS>',
        'integration-token-keys': '<generated>',
      },
    });
    expect(text).not.toMatch(/k1:|PRIVATE KEY/);
    expect(api.requests).toEqual([]);
  });

  it('writes the values to a file that only its owner can read, and to no existing file', async () => {
    const out = join(folder, 'secrets.json');
    const { text } = await create({ out });
    expect(text).not.toContain(MARK);
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const { items } = JSON.parse(await readFile(out, 'utf8'));
    const both = items.filter(({ metadata }: KubernetesObject) => metadata.name === 'uswarm-runtime-stores');
    expect(both.map(({ metadata }: KubernetesObject) => metadata.namespace)).toEqual(['backend', 'userswarms']);
    expect(both[0].stringData).toEqual({ SVC_SPACES_KEY: MARK, SVC_SPACES_SECRET: MARK });
    expect(api.requests).toEqual([]);
    await expect(create({ out })).rejects.toThrow(/cannot be written \(EEXIST\)\.$/);
  });
});
