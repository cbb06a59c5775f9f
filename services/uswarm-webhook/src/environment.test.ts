import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-types';
import { listen, silentLogger } from '@uswarm/service-kit';
import { CALL_KEY, syncRequest, userSwarm } from '../test/webhook-input.js';
import { createWebhookApp } from './app.js';
import { loadWebhookConfig } from './config/config.js';

const SYNC_TOKEN = 't'.repeat(32);
const REQUIRED = {
  SYNC_TOKEN,
  USWARM_CALL_PUBLIC_KEY: CALL_KEY,
  SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:1',
  SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator.test:8082',
  SVC_MCP_ENDPOINT: 'http://tools.test:8080/mcp',
};

let policy: string;
beforeAll(async () => {
  policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n');
});
afterAll(() => rm(policy, { recursive: true }));

interface Variable {
  name: string;
  value?: string;
  valueFrom?: unknown;
}
interface Pod {
  image: string;
  variables: Record<string, Variable>;
}

/** Starts a webhook with this environment and returns the pods that it renders over HTTP. */
async function start(environment: Record<string, string>): Promise<{ podOf(workspace: string): Promise<Pod> }> {
  const config = await loadWebhookConfig(environment);
  const app = createWebhookApp({ ...config, logger: silentLogger });
  return {
    async podOf(workspace) {
      const server = await listen(app, { host: '127.0.0.1', port: 0 });
      try {
        const response = await fetch(`${server.url}/sync`, {
          method: 'POST',
          headers: { authorization: `Bearer ${SYNC_TOKEN}`, 'content-type': 'application/json' },
          body: JSON.stringify(syncRequest(userSwarm({}, `workspace-${workspace}`))),
        });
        const { children } = (await response.json()) as { children: KubernetesObject[] };
        const deployment = children.find(({ kind }) => kind === 'Deployment') as unknown as {
          spec: { template: { spec: { containers: [{ image: string; env: Variable[] }] } } };
        };
        const [{ image, env }] = deployment.spec.template.spec.containers;
        return { image, variables: Object.fromEntries(env.map((variable) => [variable.name, variable])) };
      } finally {
        await server.close();
      }
    },
  };
}

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  ...REQUIRED,
  POLICY_DIRECTORY: policy,
  ...more,
});
const podWith = async (more: Record<string, string> = {}): Promise<Pod> => (await start(environment(more))).podOf('a');
const fromStores = (key: string): unknown => ({ secretKeyRef: { name: 'uswarm-runtime-stores', key } });

describe('environment variables of the webhook and their effect on pods', () => {
  it('ENV-001: SVC_AGENT_RUNTIME_IMAGE is the image of every runtime pod', async () => {
    const webhook = await start(environment({ SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:2' }));
    for (const workspace of ['a', 'b']) expect((await webhook.podOf(workspace)).image).toBe('registry.test/runtime:2');
  });

  it('ENV-002: SVC_ORCHESTRATOR_ENDPOINT is the orchestrator address in runtime pods', async () => {
    const { variables } = await podWith();
    expect(variables['SVC_ORCHESTRATOR_ENDPOINT']?.value).toBe(REQUIRED.SVC_ORCHESTRATOR_ENDPOINT);
  });

  it('ENV-003: SVC_MCP_ENDPOINT is the address of the MCP tools in runtime pods', async () => {
    const { variables } = await podWith();
    expect(variables['SVC_MCP_ENDPOINT']?.value).toBe(REQUIRED.SVC_MCP_ENDPOINT);
  });

  it('ENV-004: pods contain no tool token, even if the signing key is set', async () => {
    const key = 'signing-'.repeat(5);
    const pod = await podWith({ SVC_MCP_SIGNING_KEY: `k1:${key}` });
    expect(pod.variables).not.toHaveProperty('USWARM_MCP_TOKEN');
    expect(pod).toEqual(await podWith());
    // A JWT in any pod field.
    expect(JSON.stringify(pod)).not.toMatch(/eyJ[\w-]+\.[\w-]+\.[\w-]+/);
    expect(JSON.stringify(pod)).not.toContain(key);
  });

  it('ENV-005: SVC_DATABASE_* reaches pods; the password is a Secret reference', async () => {
    const group = {
      SVC_DATABASE_HOST: 'db.test',
      SVC_DATABASE_PORT: '5432',
      SVC_DATABASE_NAME: 'runtimes',
      SVC_DATABASE_USER: 'runtime',
      SVC_DATABASE_SSLMODE: 'verify-full',
    };
    const { variables } = await podWith({ ...group, SVC_DATABASE_PASSWORD: 'hidden' });
    for (const [name, value] of Object.entries(group)) expect(variables[name]?.value).toBe(value);
    expect(variables['SVC_DATABASE_PASSWORD']).toEqual({
      name: 'SVC_DATABASE_PASSWORD',
      valueFrom: fromStores('SVC_DATABASE_PASSWORD'),
    });
  });

  it('ENV-006: SVC_REDIS_ADDR reaches pods; it is a Secret reference if it contains a password', async () => {
    expect((await podWith({ SVC_REDIS_ADDR: 'valkey.test:6379' })).variables['SVC_REDIS_ADDR']?.value).toBe(
      'valkey.test:6379',
    );
    const { variables } = await podWith({ SVC_REDIS_ADDR: 'redis://:hidden@valkey.test:6379' });
    expect(variables['SVC_REDIS_ADDR']?.valueFrom).toEqual(fromStores('SVC_REDIS_ADDR'));
  });

  it('ENV-007: SVC_SPACES_* reaches pods; key and secret are Secret references', async () => {
    const group = { SVC_SPACES_ENDPOINT: 'https://s3.test', SVC_SPACES_REGION: 'eu', SVC_SPACES_BUCKET: 'runtimes' };
    const { variables } = await podWith({ ...group, SVC_SPACES_KEY: 'hidden', SVC_SPACES_SECRET: 'hidden' });
    for (const [name, value] of Object.entries(group)) expect(variables[name]?.value).toBe(value);
    for (const name of ['SVC_SPACES_KEY', 'SVC_SPACES_SECRET']) {
      expect(variables[name]).toEqual({ name, valueFrom: fromStores(name) });
    }
  });

  it('pods have no store variables if no store is configured', async () => {
    const { variables } = await podWith();
    expect(Object.keys(variables).filter((name) => /^SVC_(DATABASE|REDIS|SPACES)/.test(name))).toEqual([]);
  });

  it('ENV-008: the webhook reads its environment once, at startup', async () => {
    const variables = environment();
    const webhook = await start(variables);
    const before = await webhook.podOf('a');
    for (const name of Object.keys(variables)) variables[name] = 'changed';
    await writeFile(join(policy, 'runtimeNamespaces'), 'elsewhere\n');
    expect(await webhook.podOf('a')).toEqual(before);
    await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n');
  });
});
