import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { UrgentJobDefinition } from '../platform/jobs/job-definition.js';
import type { ModelCatalog } from '../platform/core/models.js';
import { createModelTokens } from './model-calls/model-tokens.js';
import type { Plans } from '../metering/plans.js';
import type { RuntimeClient } from '../runtimes/runtime-client.js';
import type { TurnMetrics } from './turn-metrics.js';
import { createUsageLimits } from '../metering/usage-limits.js';
import { SUMMARY_JOB, TITLE_JOB } from './summaries/follow-ups.js';
import { createSummarizer } from './summaries/summarizer.js';
import { createSummaryJobs } from './summaries/summary-jobs.js';
import * as runtimeRecords from '../records/runtimes.store.js';
import * as agentRecords from '../records/agents.store.js';
import * as summaryRecords from './summaries/summaries.store.js';
import * as turnRecords from './turns.store.js';
import * as reservationRecords from '../metering/reservations.store.js';

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
  const handlers = createSummaryJobs({
    withTransaction,
    jobs,
    database,
    summarizer: createSummarizer({
      database,
      runtimes: runtimeRecords,
      client,
      agents: agentRecords,
      users: summaryRecords,
      turns: turnRecords,
      withTransaction,
      reservations: reservationRecords,
      limits: createUsageLimits({ database, plans, clock }),
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
