import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { WithTransaction } from '../../database/database.js';
import type { Stores } from '../../stores.js';
import type { JobWorkerDeps } from '../../jobs/job-worker.js';
import type { Plans } from '../plans/plans.js';
import { createFileOpener } from '../uploads/download.js';
import type { ObjectStore } from '../uploads/object-store.js';
import { createFileLinks } from '../uploads/upload-links.js';
import { createUserService } from '../users/users.service.js';
import { createExportBuilding, EXPORT_JOB } from './export-building.js';
import { createExportContent } from './export-content.js';
import { exportHandlers } from './exports.routes.js';
import { createExportService } from './exports.service.js';

export interface ExportsDeps {
  config: Pick<
    OrchestratorConfig,
    'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'PUBLIC_URL' | 'EXPORT_INTERVAL_S' | 'EXPORTS_KEPT_DAYS'
  >;
  stores: Stores;
  withTransaction: WithTransaction;
  objects: ObjectStore;
  plans: Plans;
  clock: Clock;
}

/** Everything about exports, wired together. */
export interface Exports {
  handlers: ReturnType<typeof exportHandlers>;
  upkeep: Record<string, JobWorkerDeps['handle']>;
}

const DAY_MS = 24 * 3_600_000;

export function createExports({ config, stores, withTransaction, objects, plans, clock }: ExportsDeps): Exports {
  const users = createUserService({ store: stores.users, legal: stores.legal, plans, clock });
  const service = createExportService({
    withTransaction,
    store: stores.exports,
    users: stores.uploads,
    jobs: stores.jobs,
    links: createFileLinks({
      secret: config.CURSOR_KEY,
      previousSecrets: config.CURSOR_KEY_PREVIOUS,
      purpose: 'uswarm export links',
      urlOf: (id) => `${(config.PUBLIC_URL ?? '').replace(/\/+$/, '')}/v1/users/exports/${id}/archive`,
      clock,
    }),
    openFile: createFileOpener(objects, 'export_not_found'),
    intervalMs: config.EXPORT_INTERVAL_S * 1_000,
    clock,
  });
  const building = createExportBuilding({
    withTransaction,
    store: stores.exports,
    jobs: stores.jobs,
    objects,
    content: createExportContent({ data: stores.exportData, profile: users.profile, objects }),
    keptMs: config.EXPORTS_KEPT_DAYS * DAY_MS,
    clock,
  });
  return { handlers: exportHandlers(service), upkeep: { [EXPORT_JOB]: building } };
}
