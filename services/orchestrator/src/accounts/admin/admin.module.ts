import { LIMITS } from '@uswarm/contract';
import type { Clock, Logger, SecurityLog } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createPruning, pruningRow } from '../../platform/jobs/pruning.js';
import type { JobSignals } from '../../platform/jobs/job-signals.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import { createDeviceStore } from '../devices/devices.store.js';
import type { Epochs } from '../../events/epoch.js';
import { createLegalStore } from '../legal/legal.store.js';
import type { Plans } from '../../metering/plans.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { TURN_JOB } from '../../records/turn-job.js';
import { createUsageStore } from '../../metering/usage.store.js';
import { createAdminRouter } from './admin.routes.js';
import { createAdminService } from './admin.service.js';
import { createAdminStore } from './admin.store.js';
import { AUDIT_PRUNING_JOB, createAuditStore } from '../../records/audit.store.js';
import { createOperators } from './operators.js';
import { createRequeue } from './requeue.service.js';
import { createRequeueStore } from './requeue.store.js';

export interface AdminModuleDeps {
  config: OrchestratorConfig;
  database: Database;
  withTransaction: WithTransaction;
  jobSignals: JobSignals;
  runtimes: RuntimeRequests;
  sessionEnds: SessionRevocationPublisher;
  plans: Plans;
  epochs: Pick<Epochs, 'bump'>;
  security: SecurityLog;
  /** Formats an address for logs. */
  sourceName: (address: string) => string;
  clock: Clock;
  logger: Logger;
}

const DAY_MS = 24 * 3_600_000;

export function createAdminModule(deps: AdminModuleDeps) {
  const { config, database, withTransaction, plans, sessionEnds, security, sourceName, clock, logger } = deps;
  const audit = createAuditStore(database);
  const requeue = createRequeue({
    withTransaction,
    store: createRequeueStore(deps.jobSignals.notifier(TURN_JOB)),
    audit,
    runtimes: deps.runtimes,
  });
  const service = createAdminService({
    withTransaction,
    store: createAdminStore(database),
    audit,
    devices: createDeviceStore(database),
    legal: createLegalStore(database),
    usage: createUsageStore(database),
    plans,
    sessionEnds,
    requeue,
    epochs: deps.epochs,
    clock,
  });
  const operators = createOperators(config);
  const pruning: JobDefinition = {
    type: AUDIT_PRUNING_JOB,
    handle: createPruning({
      prune: audit.pruneSessions,
      keepMs: LIMITS.sessionAuditKeptDays * DAY_MS,
      removed: 'old sign-ins and logouts were removed from the audit log',
      clock,
      logger,
    }),
    atStart: pruningRow(AUDIT_PRUNING_JOB),
  };
  return {
    /** Undefined without an operator key. */
    router: operators === undefined ? undefined : createAdminRouter({ operators, service, security, sourceName }),
    jobs: [pruning],
  };
}
