import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import type { TokenCipher } from '../../apps/integrations/token-cipher.js';
import type { OrchestratorConfig } from '../../config.js';
import type { Idempotency } from '../../platform/idempotency/idempotency.service.js';
import type { UrgentJobDefinition } from '../../platform/jobs/job-definition.js';
import type { RateLimits } from '../../platform/rate-limits/rate-limits.js';
import type { Connections } from '../../records/connections.js';
import { createListCursors } from '../../records/list-cursor.js';
import { TRIGGER_JOB } from '../../records/trigger-job.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import { createReceiveTrigger } from './receive-trigger.js';
import { createTriggerMetrics } from './trigger-metrics.js';
import { createTriggerRuns, type TriggerRunsDeps } from './trigger-runs.js';
import { triggerHandlers } from './triggers.routes.js';
import { createTriggerService } from './triggers.service.js';

export interface TriggersModuleDeps extends Pick<
  TriggerRunsDeps,
  'messages' | 'runs' | 'storeFile' | 'attachments' | 'logger'
> {
  config: Pick<
    OrchestratorConfig,
    | 'TRIGGERS_ENABLED'
    | 'SCHEDULE_WORKERS'
    | 'SCHEDULES_PER_USER'
    | 'PUBLIC_URL'
    | 'CURSOR_KEY'
    | 'CURSOR_KEY_PREVIOUS'
    | 'INTEGRATION_TOKEN_KEYS'
  >;
  requests: Connections;
  idempotency: Idempotency;
  rates: Pick<RateLimits, 'trigger'>;
  access: WorkspaceAccess;
  cipher: TokenCipher;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

/** URLs with which other systems start runs. */
export function createTriggersModule(deps: TriggersModuleDeps) {
  const { config, requests, idempotency, rates, cipher } = deps;
  const { database, withTransaction, jobs, events, push } = requests;
  const isEnabled = config.TRIGGERS_ENABLED;
  const service = createTriggerService({
    withTransaction,
    database,
    access: deps.access,
    jobs,
    events,
    cursors: createListCursors('triggers', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    cipher: config.INTEGRATION_TOKEN_KEYS === undefined ? undefined : cipher,
    baseUrl: config.PUBLIC_URL ?? '',
    perUser: config.SCHEDULES_PER_USER,
    isEnabled,
  });
  const receive = createReceiveTrigger({
    withTransaction,
    database,
    jobs,
    idempotency,
    rates,
    cipher,
    metrics: createTriggerMetrics(deps.metrics),
    clock: deps.clock,
    isEnabled,
  });
  const { messages, runs, storeFile, attachments, logger } = deps;
  const job: UrgentJobDefinition = {
    type: TRIGGER_JOB,
    concurrency: config.SCHEDULE_WORKERS,
    handle: createTriggerRuns({
      withTransaction,
      database,
      jobs,
      events,
      push,
      messages,
      runs,
      storeFile,
      attachments,
      logger,
    }),
  };
  return { routes: triggerHandlers(service), receive, urgentJobs: isEnabled ? [job] : [] };
}
