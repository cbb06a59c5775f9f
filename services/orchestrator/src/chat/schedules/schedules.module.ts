import type { Clock, Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Idempotency } from '../../platform/idempotency/idempotency.service.js';
import type { UrgentJobDefinition } from '../../platform/jobs/job-definition.js';
import type { RateLimits } from '../../platform/rate-limits/rate-limits.js';
import type { Connections } from '../../records/connections.js';
import { createListCursors } from '../../records/list-cursor.js';
import { SCHEDULE_JOB } from '../../records/schedule-job.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import type { PlatformTool } from '../../turns/tools/platform-tool.js';
import type { RunStart } from './run-start.js';
import type { UserMessages } from '../user-messages.js';
import { createScheduleChanges, type ScheduleChanges } from './schedule-changes.js';
import { createScheduleTools } from './schedule-tools.js';
import { createScheduleRuns } from './schedule-runs.js';
import { scheduleHandlers } from './schedules.routes.js';
import { createScheduleService } from './schedules.service.js';

type Settings = Pick<OrchestratorConfig, 'SCHEDULES_PER_USER' | 'SCHEDULE_INTERVAL_S' | 'SCHEDULES_SPREAD_S'>;

/** With a process's connections: requests change schedules, and so do tool calls. */
const createChangesOn = (
  { jobs, events }: Pick<Connections, 'jobs' | 'events'>,
  config: Settings,
  clock: Clock,
): ScheduleChanges =>
  createScheduleChanges({
    jobs,
    events,
    clock,
    limits: {
      perUser: config.SCHEDULES_PER_USER,
      intervalS: config.SCHEDULE_INTERVAL_S,
      spreadS: config.SCHEDULES_SPREAD_S,
    },
  });

export interface ScheduleToolsDeps {
  config: Settings & Pick<OrchestratorConfig, 'SCHEDULES_ENABLED'>;
  /** For tool calls. */
  background: Connections;
  clock: Clock;
}

/** Turns need them, and the module needs turns. */
export const createScheduleToolsOn = ({ config, background, clock }: ScheduleToolsDeps): PlatformTool[] =>
  config.SCHEDULES_ENABLED
    ? createScheduleTools({
        database: background.database,
        changes: createChangesOn(background, config, clock),
        clock,
      })
    : [];

export interface SchedulesModuleDeps {
  config: Settings &
    Pick<OrchestratorConfig, 'SCHEDULES_ENABLED' | 'SCHEDULE_WORKERS' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS'>;
  requests: Connections;
  messages: UserMessages;
  runs: RunStart;
  idempotency: Idempotency;
  rates: Pick<RateLimits, 'send'>;
  access: WorkspaceAccess;
  clock: Clock;
  logger: Logger;
}

export function createSchedulesModule(deps: SchedulesModuleDeps) {
  const { config, requests, messages, idempotency, rates, access, clock, logger } = deps;
  const { database, withTransaction, jobs, events, push } = requests;
  const changes = createChangesOn(requests, config, clock);
  const runs = createScheduleRuns({
    withTransaction,
    database,
    jobs,
    events,
    push,
    messages,
    runs: deps.runs,
    changes,
    clock,
    logger,
  });
  const service = createScheduleService({
    withTransaction,
    database,
    access,
    idempotency,
    rates,
    cursors: createListCursors('schedules', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    changes,
    runs,
    isEnabled: config.SCHEDULES_ENABLED,
  });
  const job: UrgentJobDefinition = { type: SCHEDULE_JOB, handle: runs.handle, concurrency: config.SCHEDULE_WORKERS };
  return { routes: scheduleHandlers(service), urgentJobs: config.SCHEDULES_ENABLED ? [job] : [] };
}
