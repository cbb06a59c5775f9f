import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { undocumented } from '@uswarm/testkit';
import { CALL_KEY, syncRequest, userSwarm } from '../test/webhook-input.js';

const SYNC_TOKEN = 't'.repeat(32);
let policy: string;
beforeAll(async () => {
  policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n');
});
afterAll(() => rm(policy, { recursive: true }));

/** Starts the built program with exactly this environment. */
const start = (env: Record<string, string>): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [fileURLToPath(new URL('../dist/main.js', import.meta.url))], { env });

describe('the webhook process', () => {
  it('serves /sync, /healthz and the operations port, and stops on SIGTERM', async () => {
    const service = start({
      SYNC_TOKEN,
      HTTP_PORT: '0',
      OPS_PORT: '0',
      POLICY_DIRECTORY: policy,
      USWARM_CALL_PUBLIC_KEY: CALL_KEY,
      SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:1',
      SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator.test',
      SVC_MCP_ENDPOINT: 'http://mcp.test/mcp',
    });
    const exit = once(service, 'exit');
    try {
      const [line] = (await once(createInterface(service.stdout), 'line')) as [string];
      const { port, ops_port } = JSON.parse(line) as { port: number; ops_port: number };
      const response = await fetch(`http://127.0.0.1:${port}/sync`, {
        method: 'POST',
        headers: { authorization: `Bearer ${SYNC_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify(syncRequest(userSwarm())),
      });
      expect(response.headers.get('uswarm-webhook-revision')).toMatch(/^[0-9a-f]{16}$/);
      expect(Date.parse(response.headers.get('uswarm-webhook-started') ?? '')).toBeLessThanOrEqual(Date.now());
      expect(await response.json()).toMatchObject({ status: { phase: 'Progressing' }, children: [{}, {}, {}] });
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
      expect((await fetch(`http://127.0.0.1:${ops_port}/readyz`)).status).toBe(200);
      const metrics = await (await fetch(`http://127.0.0.1:${ops_port}/metrics`)).text();
      expect(metrics).toContain('uswarm_webhook_sync_requests_total{outcome="ok",component="uswarm-webhook"} 1');
      expect(undocumented('uswarm-webhook', metrics)).toEqual([]);
    } finally {
      service.kill('SIGTERM');
    }
    expect(await exit).toEqual([0, null]);
  });

  it('exits at startup if settings are missing, and names all of them', async () => {
    const service = start({ POLICY_DIRECTORY: policy });
    const [output, [code]] = await Promise.all([text(service.stdout), once(service, 'exit')]);
    expect(code).toBe(1);
    for (const name of ['SYNC_TOKEN', 'SVC_AGENT_RUNTIME_IMAGE']) {
      expect(output).toContain(`${name} is not set`);
    }
  });
});
