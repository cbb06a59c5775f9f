import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { createMetrics, initializedCounter, boundedLabel, Registry } from './metrics.js';

const lines = async (registry: Registry): Promise<string[]> => (await registry.metrics()).split('\n');

describe('process metrics', () => {
  it('include the running version and the memory limit', async () => {
    const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(manifest) as { version: string };
    const found = await lines(createMetrics('tested'));
    expect(found).toContain(`uswarm_build_info{version="${version}",component="tested"} 1`);
    const limit = Number(found.find((line) => line.startsWith('uswarm_process_memory_limit_bytes'))?.split(' ')[1]);
    expect(limit).toBeGreaterThan(0);
    expect(limit).toBeLessThanOrEqual(totalmem());
  });

  it('include the default metrics of Node.js', async () => {
    const names = createMetrics('tested')
      .getMetricsAsArray()
      .map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'process_resident_memory_bytes',
        'nodejs_eventloop_lag_p99_seconds',
        'nodejs_gc_duration_seconds',
      ]),
    );
  });
});

describe('initializedCounter', () => {
  it('initializes every series to 0', async () => {
    const registry = new Registry();
    initializedCounter(registry, 'done_total', 'Done', { kind: ['a', 'b'], outcome: ['ok', 'failed'] }).inc({
      kind: 'b',
      outcome: 'failed',
    });
    expect((await lines(registry)).filter((line) => line.startsWith('done_total'))).toEqual([
      'done_total{kind="a",outcome="ok"} 0',
      'done_total{kind="a",outcome="failed"} 0',
      'done_total{kind="b",outcome="ok"} 0',
      'done_total{kind="b",outcome="failed"} 1',
    ]);
  });

  it('starts at 0 without labels', async () => {
    const registry = new Registry();
    initializedCounter(registry, 'done_total', 'Done', {});
    expect(await lines(registry)).toContain('done_total 0');
  });

  it('maps unknown values to other', () => {
    const known = new Set(['a']);
    expect(['a', 'b', ''].map((value) => boundedLabel(known, value))).toEqual(['a', 'other', 'other']);
  });
});
