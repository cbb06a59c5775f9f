import { LIMITS } from '@uswarm/contract';
import type { Clock, Logger, SecurityLog } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createPruning, pruningRow } from '../../platform/jobs/pruning.js';
import type { JobSignals } from '../../platform/jobs/job-signals.js';
import type { IssuerAccess } from '../auth/issuer-tokens.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import type { OperatorReview } from '../../apps/tool-servers/operator-review.js';
import type { Epochs } from '../../events/epoch.js';
import type { Plans } from '../../metering/plans.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { TURN_JOB } from '../../records/turn-job.js';
import { createAdminRouter } from './admin.routes.js';
import { createAdminService } from './admin.service.js';
import { AUDIT_PRUNING_JOB, pruneAuditSessions } from '../../records/audit.store.js';
import { createOperatorTokens } from './operator-tokens.js';
import { createOperators } from './operators.js';
import type { ExportService } from '../exports/exports.service.js';
import { createRequeue } from './requeue.service.js';
import type { StepService } from '../../turns/steps/steps.service.js';
import { createTurnTrace } from './turn-trace.js';

export interface AdminModuleDeps {
  config: OrchestratorConfig;
  database: Database;
  withTransaction: WithTransaction;
  jobSignals: JobSignals;
  runtimes: RuntimeRequests;
  sessionEnds: SessionRevocationPublisher;
  plans: Plans;
  epochs: Pick<Epochs, 'bump'>;
  toolReview: OperatorReview;
  steps: Pick<StepService, 'list'>;
  exports: Pick<ExportService, 'current' | 'get'>;
  issuerAccess: IssuerAccess;
  security: SecurityLog;
  /** Formats an address for logs. */
  sourceName: (address: string) => string;
  clock: Clock;
  logger: Logger;
}

const DAY_MS = 24 * 3_600_000;

export function createAdminModule(deps: AdminModuleDeps) {
  const { config, database, withTransaction, plans, sessionEnds, security, sourceName, clock, logger } = deps;
  const requeue = createRequeue({
    withTransaction,
    runtimes: deps.runtimes,
    notifyTurns: deps.jobSignals.notifier(TURN_JOB),
  });
  const service = createAdminService({
    withTransaction,
    database,
    plans,
    sessionEnds,
    requeue,
    trace: createTurnTrace({ database, steps: deps.steps }),
    exports: deps.exports,
    epochs: deps.epochs,
    toolReview: deps.toolReview,
    clock,
  });
  const { OPERATOR_ISSUERS: issuers } = config;
  const people = issuers.length === 0 ? undefined : createOperatorTokens(issuers, deps.issuerAccess);
  const operators = createOperators(config, people);
  const pruning: JobDefinition = {
    type: AUDIT_PRUNING_JOB,
    handle: createPruning({
      prune: (before, limit) => pruneAuditSessions(database, before, limit),
      keepMs: LIMITS.sessionAuditKeptDays * DAY_MS,
      removed: 'old sign-ins and logouts were removed from the audit log',
      clock,
      logger,
    }),
    atStart: pruningRow(AUDIT_PRUNING_JOB),
  };
  return {
    /** Undefined without an operator key and an issuer of operators. */
    router: operators === undefined ? undefined : createAdminRouter({ operators, service, security, sourceName }),
    jobs: [pruning],
  };
}
