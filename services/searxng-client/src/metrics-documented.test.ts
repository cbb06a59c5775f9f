import { expect, it } from '@jest/globals';
import { createMetrics } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { createSearchMetrics } from './metrics.js';

it('docs/metrics.md has every metric of the search tool, and no other', () => {
  const registry = createMetrics('searxng-client');
  createSearchMetrics(registry);
  expect(metricsIn(registry)).toEqual(documentedMetrics('searxng-client'));
});
