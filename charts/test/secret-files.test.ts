import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@uswarm/service-kit';
import { MigrationConfig, readConfig } from '@uswarm/orchestrator/config';
import { e2eToken } from '@uswarm/orchestrator/e2e-token';
import { GatewayConfig } from '@uswarm/realtime-gateway/config';
import { loadSearchConfig } from '@uswarm/searxng-client/config';
import { loadControllerConfig } from '@uswarm/controller/config';
import { loadWebhookConfig } from '@uswarm/webhook';
import {
  CHART,
  type Container,
  containersOf,
  find,
  type Manifest,
  type PodTemplate,
  podTemplates,
  render,
} from './support/rendering.js';

const MOUNTED_AT = '/etc/uswarm/secrets';
/** Third-party images, which read only variables. */
const FOREIGN = ['searxng', 'uswarm-postgres', 'uswarm-valkey'];

interface Source {
  secret: { name: string; items: { key: string; path: string }[] };
}

let folder: string;
let asFiles: Manifest[];
let asVariables: Manifest[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-mounted-'));
  const files = [`${CHART}/ci/everything-values.yaml`];
  // Keys in other Secrets are unknown here, so all values come from the generated one.
  const generated = {
    secrets: {
      signature: { previousKey: 'cursor-key' },
      mcpSigning: { previousKey: 'cursor-key' },
      callKey: { previousPrivateKey: 'call-private-key' },
      admin: { existingSecret: '' },
      databaseRead: { existingSecret: '' },
      migrations: { existingSecret: '' },
      objectStorage: { existingSecret: '' },
      integrations: { existingSecret: '' },
      push: { existingSecret: '' },
      search: { existingSecret: '' },
      tracing: { existingSecret: '' },
    },
    runtime: { stores: { existingSecret: '', database: { host: '', name: '', user: '' }, spaces: { endpoint: '' } } },
    // They need the Secret of the integrations.
    userWebhooks: { enabled: false },
    toolServers: { userServers: { enabled: false } },
    trustedCA: { existingConfigMap: '' },
  };
  const stores = { spaces: { endpoint: '', region: '', bucket: '' } };
  const values = { ...generated, runtime: { stores: { ...generated.runtime.stores, ...stores } } };
  [asFiles, asVariables] = await Promise.all([
    render({ ...values, mountSecretsAsFiles: true }, { files }),
    render(values, { files }),
  ]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const ours = (manifests: readonly Manifest[]): PodTemplate[] =>
  podTemplates(manifests).filter(({ owner }) => !FOREIGN.includes(owner));

/** Sources in a container's projected volume. */
function sourcesOf(pod: PodTemplate, { volumeMounts = [] }: Container): Source[] {
  const mount = volumeMounts.find(({ mountPath }) => mountPath === MOUNTED_AT);
  const volume = pod.spec.volumes?.find(({ name }: { name: string }) => name === mount?.name);
  return volume?.projected.sources ?? [];
}

/** A container's environment, with its mounted files in a temporary folder. */
async function environment(owner: string, name: string): Promise<Record<string, string>> {
  const pod = podTemplates(asFiles).find((each) => each.owner === `uswarm-${owner}`)!;
  const container = containersOf(pod).find((each) => each.name === name)!;
  const place = join(folder, owner, name);
  await mkdir(place, { recursive: true });
  for (const { secret } of sourcesOf(pod, container)) {
    const { stringData } = find(asFiles, 'Secret', secret.name);
    for (const { key, path } of secret.items) await writeFile(join(place, path), `${stringData[key]}\n`);
  }
  return Object.fromEntries(
    container.env!.map((each) => [each.name, (each.value ?? '').replace(`${MOUNTED_AT}/`, `${place}/`)]),
  );
}

describe('with mountSecretsAsFiles', () => {
  it('no container of this project has a secret in its environment', () => {
    const found = ours(asFiles).flatMap((pod) =>
      containersOf(pod).flatMap(({ name, env = [] }) =>
        env.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined).map((each) => `${name} ${each.name}`),
      ),
    );
    expect(found).toEqual([]);
    expect(ours(asFiles).filter((pod) => containersOf(pod).some((each) => 'envFrom' in each))).toEqual([]);
  });

  it('each container mounts the secrets that it otherwise has as variables', () => {
    const variables = ours(asVariables).map((pod) =>
      containersOf(pod).map(({ name, env = [] }) => ({
        name,
        secrets: env.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined).map((each) => each.name),
      })),
    );
    const mounted = ours(asFiles).map((pod) =>
      containersOf(pod).map((each) => ({
        name: each.name,
        secrets: sourcesOf(pod, each).flatMap(({ secret }) => secret.items.map(({ path }) => path)),
      })),
    );
    expect(mounted).toEqual(variables);
    expect(mounted.flat().flatMap(({ secrets }) => secrets).length).toBeGreaterThan(15);
    for (const pod of ours(asFiles)) {
      for (const each of containersOf(pod)) {
        const files = (each.env ?? []).filter(({ value }) => value?.startsWith(`${MOUNTED_AT}/`));
        expect(files.map(({ name, value }) => [name, value])).toEqual(
          sourcesOf(pod, each).flatMap(({ secret }) =>
            secret.items.map(({ path }) => [`${path}_FILE`, `${MOUNTED_AT}/${path}`]),
          ),
        );
      }
    }
  });

  it('files are readable only by the owner and the group of the pod', () => {
    const projected = ours(asFiles).flatMap(({ spec }) =>
      (spec.volumes ?? []).filter((volume: object) => 'projected' in volume),
    );
    expect(new Set(projected.map((volume) => volume.projected.defaultMode))).toEqual(new Set([0o440]));
  });

  it('a variable in extraEnv overrides the file', async () => {
    const SYNC_TOKEN = { name: 'SYNC_TOKEN', valueFrom: { secretKeyRef: { name: 'mine', key: 'token' } } };
    const files = [`${CHART}/ci/evaluation-values.yaml`];
    const values = { mountSecretsAsFiles: true, controller: { extraEnv: [SYNC_TOKEN] } };
    const pod = podTemplates(await render(values, { files })).find(({ owner }) => owner === 'uswarm-controller')!;
    const { env = [] } = containersOf(pod)[0]!;
    expect(env.filter(({ name }) => name.startsWith('SYNC_TOKEN'))).toEqual([SYNC_TOKEN]);
  });
});

describe('secrets in mounted files', () => {
  const secret = (key: string): string => find(asFiles, 'Secret', 'uswarm-evaluation')['stringData'][key] as string;

  it('are read by the orchestrator', async () => {
    const env = await environment('orchestrator', 'orchestrator');
    expect(readConfig(env)).toMatchObject({
      DATABASE_URL: secret('database-url'),
      REALTIME_REDIS_URL: secret('realtime-redis-url'),
      INTERNAL_API_KEY: secret('internal-api-key'),
      CURSOR_KEY: secret('cursor-key'),
      IDENTITY_HASH_KEY: secret('identity-hash-key'),
      SIGNATURE_SECRET: secret('signature-secret'),
    });
    expect(e2eToken(env)).toBe(secret('e2e-token'));
  });

  it('are read by migrations', async () => {
    const env = await environment('orchestrator', 'migrations');
    expect(loadConfig(MigrationConfig, env).DATABASE_URL).toBe(secret('database-url'));
    expect(Object.keys(env).filter((name) => name.endsWith('_FILE'))).toEqual(['DATABASE_URL_FILE']);
  });

  it('are read by the gateway', async () => {
    const config = loadConfig(GatewayConfig, await environment('realtime-gateway', 'realtime-gateway'));
    expect(config.INTERNAL_API_KEY).toBe(secret('internal-api-key'));
    expect(config.REALTIME_REDIS_URL).toBe(secret('realtime-redis-url'));
  });

  it('are read by the webhook', async () => {
    const { data } = find(asFiles, 'ConfigMap', 'uswarm-policy') as unknown as { data: Record<string, string> };
    const policy = join(folder, 'policy');
    await mkdir(policy);
    for (const [name, text] of Object.entries(data)) await writeFile(join(policy, name), text);
    const env = { ...(await environment('webhook', 'webhook')), POLICY_DIRECTORY: policy };
    const config = await loadWebhookConfig(env);
    expect(config.syncToken).toBe(secret('sync-token'));
    expect(config.settings.callPublicKey).toContain('BEGIN PUBLIC KEY');
  });

  it('are read by the controller', async () => {
    const env = { ...(await environment('controller', 'controller')), POD_NAME: 'controller-0' };
    expect(loadControllerConfig(env).SYNC_TOKEN).toBe(secret('sync-token'));
  });

  it('are read by the search tool', async () => {
    const config = loadSearchConfig(await environment('searxng-client', 'searxng-client'), []);
    expect(config.keys).toHaveLength(2);
  });
});
