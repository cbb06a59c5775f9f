import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { Handler } from '../../platform/http/handlers.js';
import { createPushHandler, createWithdrawalHandler } from './push-handler.js';
import { PUSH_JOB, PUSH_WITHDRAWAL_JOB } from '../../records/push-jobs.js';
import { createPushMetrics } from './push-metrics.js';
import { createPushSenders, pushServicesOf, vapidOf } from './push-senders.js';

export type PushConfig = Parameters<typeof pushServicesOf>[0] &
  Pick<OrchestratorConfig, 'PUSH_PREVIEW' | 'PUSH_DELAY_MS'>;

export interface PushModuleDeps {
  config: PushConfig & Pick<OrchestratorConfig, 'proxy'>;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'push'>;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

/** A message is announced after this many ms; undefined if no service is configured. */
export const pushDelayOf = (config: PushConfig): number | undefined =>
  pushServicesOf(config).length === 0 ? undefined : config.PUSH_DELAY_MS;

export function createPushModule({ config, connections, metrics, clock, logger }: PushModuleDeps) {
  const { database, withTransaction, push } = connections;
  const pushMetrics = createPushMetrics(metrics);
  const services = pushServicesOf(config);
  const settings = {
    services,
    vapid_public_key: vapidOf(config)?.publicKey ?? null,
    preview: config.PUSH_PREVIEW,
  };
  const getPushSettings: Handler<'getPushSettings'> = async () => ({ status: 200, body: { data: settings } });
  const routes = { getPushSettings };
  if (services.length === 0) return { routes, jobs: [], close: () => Promise.resolve() };
  const { senders, close } = createPushSenders({ config, clock, logger });
  const deps = {
    database,
    senders,
    withTransaction,
    jobs: push,
    preview: config.PUSH_PREVIEW,
    metrics: pushMetrics,
  };
  const jobs: JobDefinition[] = [
    { type: PUSH_JOB, handle: createPushHandler(deps) },
    { type: PUSH_WITHDRAWAL_JOB, handle: createWithdrawalHandler(deps) },
  ];
  return { routes, jobs, close };
}
