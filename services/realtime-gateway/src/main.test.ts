import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { undocumented } from '@uswarm/testkit';

it('the gateway is ready without Redis, its metrics report the outage, and docs/metrics.md lists all of them', async () => {
  const gateway = spawn(process.execPath, [fileURLToPath(new URL('../dist/main.js', import.meta.url))], {
    env: {
      REALTIME_REDIS_URL: 'redis://127.0.0.1:1',
      INTERNAL_API_URL: 'http://127.0.0.1:1',
      INTERNAL_API_KEY: `k1:${'s'.repeat(32)}`,
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      OPS_PORT: '0',
    },
  });
  const exit = once(gateway, 'exit');
  try {
    let port: number | undefined;
    for await (const line of createInterface(gateway.stdout)) {
      port = (JSON.parse(line) as { ops_port?: number }).ops_port;
      if (port !== undefined) break;
    }
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(undocumented('realtime-gateway', text)).toEqual([]);
    expect(text).toContain('uswarm_event_bus_up{component="realtime-gateway"} 0');
  } finally {
    gateway.kill('SIGTERM');
  }
  await exit;
});
