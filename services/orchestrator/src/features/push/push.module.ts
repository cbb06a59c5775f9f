import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../database/connections.js';
import type { JobDefinition } from '../../jobs/job-definition.js';
import type { JobStore } from '../../jobs/job-store.js';
import { createFcmSender } from './fcm-sender.js';
import { createGoogleTokens } from './google-token.js';
import { createPushHandler } from './push-handler.js';
import { createPushJobs, NO_PUSH, PUSH_JOB, type PushJobs } from './push-jobs.js';
import { createPushMetrics } from './push-metrics.js';
import { createPushStore } from './push.store.js';

type PushConfig = Pick<OrchestratorConfig, 'PUSH_SERVICE_ACCOUNT' | 'PUSH_URL' | 'PUSH_PREVIEW' | 'PUSH_DELAY_MS'>;
type PushModuleConfig = PushConfig & Pick<OrchestratorConfig, 'proxy'>;

export interface PushModuleDeps {
  config: PushModuleConfig;
  connections: Pick<Connections, 'database'>;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

/** Writes the jobs of notifications with these connections, if a push service is configured. */
export const pushJobs = (config: PushConfig, jobs: Pick<JobStore, 'enqueue'>): PushJobs =>
  config.PUSH_SERVICE_ACCOUNT === undefined ? NO_PUSH : createPushJobs(jobs, config.PUSH_DELAY_MS);

/** The job that sends notifications. */
export function createPushModule({ config, connections, metrics, clock, logger }: PushModuleDeps) {
  const pushMetrics = createPushMetrics(metrics);
  const account = config.PUSH_SERVICE_ACCOUNT;
  if (account === undefined) return { jobs: [], close: () => Promise.resolve() };
  const outgoing = createOutgoing(config.proxy);
  const push: JobDefinition = {
    type: PUSH_JOB,
    handle: createPushHandler({
      store: createPushStore(connections.database),
      sender: createFcmSender({
        url: config.PUSH_URL,
        projectId: account.project_id,
        tokens: createGoogleTokens({ account, outgoing, clock }),
        outgoing,
        clock,
        logger,
      }),
      preview: config.PUSH_PREVIEW,
      metrics: pushMetrics,
    }),
  };
  return { jobs: [push], close: outgoing.close };
}
