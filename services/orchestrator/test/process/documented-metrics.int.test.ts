import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { startTestOrchestrator, type TestOrchestrator } from '../test-orchestrator.js';

let uswarm: TestOrchestrator;
beforeAll(async () => {
  uswarm = await startTestOrchestrator();
});
afterAll(() => uswarm.close());

it('docs/metrics.md lists exactly the metrics of the orchestrator', () => {
  expect(metricsIn(uswarm.metrics)).toEqual(documentedMetrics('orchestrator'));
});
