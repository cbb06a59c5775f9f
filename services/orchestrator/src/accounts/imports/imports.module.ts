import { LIMITS } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { Connections } from '../../records/connections.js';
import type { ObjectStore } from '../../records/object-store.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { createSafeMarkdown } from '../../turns/content/reply-text.js';
import { createArtifactContents } from '../../workspaces/artifacts/artifact-contents.js';
import { createFileDetails } from '../../workspaces/uploads/file-details.js';
import { createTransferSlots } from '../../workspaces/uploads/transfer-slots.js';
import { createImportContents } from './import-contents.js';
import { createImportJob, IMPORT_JOB, type ImportJobDeps } from './import-job.js';
import { importHandlers } from './imports.routes.js';
import { oneAtATime } from './one-at-a-time.js';
import { createImportService } from './imports.service.js';
import { createRestore } from './restore.js';

export interface ImportsModuleDeps {
  config: OrchestratorConfig;
  requests: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  background: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  objects: ObjectStore;
  runtimes: RuntimeRequests;
  announce: ImportJobDeps['announce'];
  clock: Clock;
  logger: Logger;
}

const DAY_MS = 24 * 3_600_000;
const UPLOADS_AT_ONCE = 4;

export function createImportsModule(deps: ImportsModuleDeps) {
  const { config, requests, background, objects, runtimes, announce, clock, logger } = deps;
  const { database, withTransaction, jobs } = background;
  const markdown = createSafeMarkdown(config.PUBLIC_URL);
  const workspacesPerUser = config.WORKSPACES_PER_USER;
  const service = createImportService({
    ...requests,
    objects,
    slots: createTransferSlots({ maxConcurrent: UPLOADS_AT_ONCE, maxConcurrentPerOwner: 1 }),
    workspacesPerUser,
    intervalMs: config.EXPORT_INTERVAL_S * 1_000,
    clock,
    logger,
  });
  const contents = createImportContents({
    database,
    uploads: {
      withTransaction,
      jobs,
      objects,
      bytesPerUser: config.UPLOAD_BYTES_PER_USER,
      filesPerUser: config.UPLOADS_PER_USER,
      detailsOf: createFileDetails({ objects, logger }),
    },
    // Their rows are written after all files, which can take hours.
    contents: createArtifactContents({ withTransaction, jobs, objects, abandonedAfterMs: DAY_MS }),
    markdown,
    artifacts: LIMITS.artifactsPerWorkspace,
    fileBytes: config.UPLOAD_BYTES,
  });
  const restore = createRestore({
    markdown,
    limits: {
      conversations: config.CONVERSATIONS_PER_WORKSPACE,
      artifacts: LIMITS.artifactsPerWorkspace,
      memories: config.MEMORIES_PER_AGENT,
      schedules: config.SCHEDULES_PER_USER,
      scheduleIntervalS: config.SCHEDULE_INTERVAL_S,
    },
    clock,
  });
  const handle = createImportJob({
    withTransaction,
    database,
    jobs,
    objects,
    contents,
    restore,
    runtimes,
    announce,
    workspacesPerUser,
    keptMs: config.EXPORTS_KEPT_DAYS * DAY_MS,
    clock,
    logger,
  });
  const job: JobDefinition = { type: IMPORT_JOB, handle: oneAtATime(handle) };
  const limits = {
    maxBytes: LIMITS.importBytes,
    stallMs: config.UPLOAD_STALL_MS,
    minBytes: config.UPLOAD_MIN_BYTES,
  };
  return { routes: importHandlers(service, limits), jobs: [job] };
}
