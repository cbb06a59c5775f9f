import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createFileOpener, DOWNLOADS_PER_FILE } from '../../workspaces/uploads/download.js';
import { createTransferSlots } from '../../workspaces/uploads/transfer-slots.js';
import type { ObjectStore } from '../../records/object-store.js';
import { createFileLinks } from '../../workspaces/uploads/upload-links.js';
import type { ReceiptService } from '../../turns/receipts/receipts.service.js';
import type { StepService } from '../../turns/steps/steps.service.js';
import type { UserService } from '../users/users.service.js';
import { createExportBuilding, EXPORT_JOB } from './export-building.js';
import { createExportContent } from './export-content.js';
import { exportHandlers } from './exports.routes.js';
import { createExportService } from './exports.service.js';
import * as exportDataRecords from './export-data.store.js';

export interface ExportsModuleDeps {
  config: Pick<
    OrchestratorConfig,
    'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'PUBLIC_URL' | 'EXPORT_INTERVAL_S' | 'EXPORTS_KEPT_DAYS'
  >;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  objects: ObjectStore;
  profile: UserService['profile'];
  receipts: Pick<ReceiptService, 'all' | 'keys'>;
  steps: Pick<StepService, 'all'>;
  clock: Clock;
}

const DOWNLOADS_AT_ONCE = 32;

const DAY_MS = 24 * 3_600_000;

export function createExportsModule(deps: ExportsModuleDeps) {
  const { config, objects, profile, receipts, steps, clock } = deps;
  const { database, withTransaction, jobs } = deps.connections;
  const downloads = createTransferSlots({
    maxConcurrent: DOWNLOADS_AT_ONCE,
    maxConcurrentPerOwner: DOWNLOADS_PER_FILE,
  });
  const service = createExportService({
    withTransaction,
    database,
    jobs,
    links: createFileLinks({
      secret: config.CURSOR_KEY,
      previousSecrets: config.CURSOR_KEY_PREVIOUS,
      purpose: 'uswarm export links',
      urlOf: (id) => `${(config.PUBLIC_URL ?? '').replace(/\/+$/, '')}/v1/users/exports/${id}/archive`,
      clock,
    }),
    openFile: createFileOpener(objects, 'export_not_found', downloads),
    intervalMs: config.EXPORT_INTERVAL_S * 1_000,
    clock,
  });
  const building: JobDefinition = {
    type: EXPORT_JOB,
    handle: createExportBuilding({
      withTransaction,
      database,
      jobs,
      objects,
      content: createExportContent({ database, data: exportDataRecords, profile, receipts, steps, objects }),
      keptMs: config.EXPORTS_KEPT_DAYS * DAY_MS,
      clock,
    }),
  };
  return { service, routes: exportHandlers(service), jobs: [building] };
}
