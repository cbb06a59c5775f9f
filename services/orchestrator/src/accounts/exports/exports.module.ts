import { type Clock, createReceiptSigner } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createFileOpener, DOWNLOADS_PER_FILE } from '../../workspaces/uploads/download.js';
import { createTransferSlots } from '../../workspaces/uploads/transfer-slots.js';
import type { ObjectStore } from '../../records/object-store.js';
import { createFileLinks } from '../../workspaces/uploads/upload-links.js';
import type { ReceiptService } from '../../turns/receipts/receipts.service.js';
import type { StepService } from '../../turns/steps/steps.service.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import type { UserService } from '../users/users.service.js';
import { createExportBuilding, EXPORT_JOB, WORKSPACE_EXPORT_JOB } from './export-building.js';
import { createExportContent } from './export-content.js';
import { exportHandlers } from './exports.routes.js';
import { createExportService } from './exports.service.js';
import { createWorkspaceFile } from './workspace-file.js';
import * as exportDataRecords from './export-data.store.js';

export interface ExportsModuleDeps {
  config: Pick<
    OrchestratorConfig,
    'CALL_PRIVATE_KEY' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'PUBLIC_URL' | 'EXPORT_INTERVAL_S' | 'EXPORTS_KEPT_DAYS'
  >;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  access: WorkspaceAccess;
  objects: ObjectStore;
  profile: UserService['profile'];
  receipts: Pick<ReceiptService, 'all' | 'imported' | 'importedKeys' | 'keys'>;
  steps: Pick<StepService, 'all'>;
  clock: Clock;
}

const DOWNLOADS_AT_ONCE = 32;

const DAY_MS = 24 * 3_600_000;

export function createExportsModule(deps: ExportsModuleDeps) {
  const { config, access, objects, profile, receipts, steps, clock } = deps;
  const { database, withTransaction, jobs } = deps.connections;
  const downloads = createTransferSlots({
    maxConcurrent: DOWNLOADS_AT_ONCE,
    maxConcurrentPerOwner: DOWNLOADS_PER_FILE,
  });
  const service = createExportService({
    withTransaction,
    database,
    jobs,
    access,
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
  const account = createExportContent({ database, data: exportDataRecords, profile, receipts, steps, objects });
  const signer = createReceiptSigner(config.CALL_PRIVATE_KEY);
  const workspaceFile = createWorkspaceFile({ database, receipts, signer, objects });
  const handle = createExportBuilding({
    withTransaction,
    database,
    jobs,
    objects,
    content: ({ userId, workspaceId }, now) =>
      workspaceId === null ? account(userId, now) : workspaceFile(userId, workspaceId, now),
    keptMs: config.EXPORTS_KEPT_DAYS * DAY_MS,
    clock,
  });
  const building = [EXPORT_JOB, WORKSPACE_EXPORT_JOB].map((type): JobDefinition => ({ type, handle }));
  return { service, routes: exportHandlers(service), jobs: building };
}
