import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { UrgentJobDefinition } from '../platform/jobs/job-definition.js';
import { createAgentStore } from '../records/agents.store.js';
import type { ModelCatalog } from '../platform/core/models.js';
import { createModelTokens } from './model-calls/model-tokens.js';
import type { Plans } from '../metering/plans.js';
import type { RuntimeClient } from '../runtimes/runtime-client.js';
import { createRuntimeStore } from '../records/runtimes.store.js';
import type { TurnMetrics } from './turn-metrics.js';
import { createTurnStore } from './turns.store.js';
import { createReservationStore } from '../metering/reservations.store.js';
import { createUsageLimits } from '../metering/usage-limits.js';
import { createUsageStore } from '../metering/usage.store.js';
import { SUMMARY_JOB, TITLE_JOB } from './summaries/follow-ups.js';
import { createSummarizer } from './summaries/summarizer.js';
import { createSummaryStore } from './summaries/summaries.store.js';
import { createSummaryJobs } from './summaries/summary-jobs.js';

export interface SummariesModuleDeps {
  config: Pick<OrchestratorConfig, 'SUMMARY_WORKERS' | 'MODEL_TOKEN_SIGNING_KEY'>;
  background: Connections;
  plans: Plans;
  models: ModelCatalog;
  client: RuntimeClient;
  metrics: TurnMetrics;
  clock: Clock;
}

export function createSummariesModule({
  config,
  background,
  plans,
  models,
  client,
  metrics,
  clock,
}: SummariesModuleDeps) {
  const { database, withTransaction, jobs, events } = background;
  const store = createSummaryStore(database);
  const handlers = createSummaryJobs({
    withTransaction,
    jobs,
    store,
    summarizer: createSummarizer({
      runtimes: createRuntimeStore(database),
      client,
      agents: createAgentStore(database),
      users: store,
      turns: createTurnStore(database),
      withTransaction,
      reservations: createReservationStore(),
      limits: createUsageLimits({ store: createUsageStore(database), plans, clock }),
      models,
      modelTokens: createModelTokens(config.MODEL_TOKEN_SIGNING_KEY),
      metrics,
    }),
    events,
  });
  const shared = { concurrency: config.SUMMARY_WORKERS, perFairKey: 1 };
  const urgentJobs: UrgentJobDefinition[] = [
    { type: SUMMARY_JOB, handle: handlers.summary, ...shared },
    { type: TITLE_JOB, handle: handlers.title, ...shared },
  ];
  return { urgentJobs };
}
