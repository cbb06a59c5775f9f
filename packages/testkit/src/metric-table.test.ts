import { describe, expect, it } from '@jest/globals';
import { createMetrics, initializedCounter } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn, servedMetrics, undocumented } from './metric-table.js';

describe('the table of metrics', () => {
  it('is equal when read from a registry and from the served text', async () => {
    const registry = createMetrics('tested');
    initializedCounter(registry, 'made_up_total', 'Made up.', { kind: ['a "b"', 'c\\d'], other: ['e'] });
    expect(servedMetrics(await registry.metrics())).toEqual(metricsIn(registry));
  });

  it('contains the metrics of every process for each component', () => {
    const names = documentedMetrics('searxng-client').map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['uswarm_build_info', 'uswarm_searches_total']));
    expect(names).not.toContain('uswarm_turns');
  });

  it('is compared by name, type, help and labels', () => {
    const text = [
      '# HELP uswarm_build_info Always 1; the label states the running version.',
      '# TYPE uswarm_build_info gauge',
      'uswarm_build_info{version="1",user="ada",component="searxng-client"} 1',
      '# HELP uswarm_searches_total Something else.',
      '# TYPE uswarm_searches_total counter',
      '# HELP uswarm_new Not known.',
      '# TYPE uswarm_new gauge',
    ].join('\n');
    expect(undocumented('searxng-client', text)).toEqual([
      'uswarm_page_duration_seconds is not served',
      'uswarm_pages_total is not served',
      'uswarm_process_memory_limit_bytes is not served',
      'uswarm_search_duration_seconds is not served',
      'uswarm_search_engine_failures_total is not served',
      'uswarm_build_info has the label user',
      'uswarm_new is not documented',
      'uswarm_searches_total has another type or help text in the documentation',
    ]);
  });
});
