import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { undocumented } from '@uswarm/testkit';

it('the model gateway is ready, serves its documented metrics, and stops on SIGTERM', async () => {
  const gateway = spawn(process.execPath, [fileURLToPath(new URL('../dist/main.js', import.meta.url))], {
    env: {
      MODEL_TOKEN_SIGNING_KEY: `m1:${'m'.repeat(32)}`,
      INTERNAL_API_URL: 'http://127.0.0.1:1',
      MODEL_CALLS_KEY: `k1:${'s'.repeat(32)}`,
      OPENAI_API_KEY: 'key-of-this-test',
      HTTP_PORT: '0',
      OPS_PORT: '0',
    },
  });
  const exit = once(gateway, 'exit');
  try {
    const [line] = (await once(createInterface(gateway.stdout), 'line')) as [string];
    const { port, ops_port } = JSON.parse(line) as { port: number; ops_port: number };
    expect((await fetch(`http://127.0.0.1:${ops_port}/readyz`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/openai/v1/chat/completions`, { method: 'POST' })).status).toBe(401);
    const metrics = await (await fetch(`http://127.0.0.1:${ops_port}/metrics`)).text();
    expect(undocumented('model-gateway', metrics)).toEqual([]);
    expect(metrics).toContain('uswarm_model_gateway_calls_total{provider="openai",result="token_invalid"');
  } finally {
    gateway.kill('SIGTERM');
  }
  expect(await exit).toEqual([0, null]);
});
