import { afterEach, describe, expect, it } from '@jest/globals';
import { Counter } from 'prom-client';
import type { RunningServer } from './http-server.js';
import { createMetrics } from './metrics.js';
import { type OpsOptions, startOpsServer } from './ops-server.js';

let server: RunningServer | undefined;
afterEach(() => server?.close(0));

async function get(path: string, options: Partial<OpsOptions> = {}) {
  const all = { metrics: createMetrics('tested'), ready: () => true, ...options };
  server = await startOpsServer({ host: '127.0.0.1', port: 0, ...all });
  const response = await fetch(`${server.url}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() };
}

describe('the operations port', () => {
  it('reports live while the process responds, ready or not', async () => {
    expect(await get('/livez', { ready: () => false })).toMatchObject({ status: 200, body: 'ok\n' });
  });

  it.each([
    ['200', 'the service is ready', () => true],
    ['503', 'the service is not ready', () => false],
    ['503', 'the check rejects', () => Promise.reject(new Error('no database'))],
    [
      '503',
      'the check throws',
      () => {
        throw new Error('no pool');
      },
    ],
  ])('returns %s for /readyz if %s', async (status, _when, ready) => {
    expect((await get('/readyz?verbose', { ready })).status).toBe(Number(status));
  });

  it('serves metrics with the component label', async () => {
    const metrics = createMetrics('tested');
    new Counter({ name: 'turns_total', help: 'Turns', registers: [metrics] }).inc(3);
    const { status, type, body } = await get('/metrics', { metrics });
    expect(status).toBe(200);
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(body).toContain('turns_total{component="tested"} 3\n');
    expect(body).toContain('process_resident_memory_bytes{component="tested"}');
  });

  it('returns 500 if a metric cannot be read', async () => {
    const metrics = createMetrics('tested');
    const collect = (): never => {
      throw new Error('broken');
    };
    metrics.registerMetric(new Counter({ name: 'broken_total', help: 'Broken', registers: [], collect }));
    expect(await get('/metrics', { metrics })).toMatchObject({ status: 500, body: 'metrics failed\n' });
  });

  it('returns 404 for other paths', async () => {
    expect((await get('/')).status).toBe(404);
  });
});
