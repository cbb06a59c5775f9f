import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import { objectSettings } from './object-settings.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { Idempotency } from '../../platform/idempotency/idempotency.service.js';
import { createAttachments } from './attachments.js';
import { createFileObjects } from './file-objects.js';
import { DOWNLOADS_PER_FILE } from './download.js';
import { createFileDetails } from './file-details.js';
import type { ObjectStore } from '../../records/object-store.js';
import { createUploadRetention, UPLOAD_JOB } from './upload-retention.js';
import { createUploadLinks } from './upload-links.js';
import { measureUploads } from './upload-metrics.js';
import { uploadHandlers } from './uploads.routes.js';
import { createTransferSlots } from './transfer-slots.js';
import { createUploadService } from './uploads.service.js';

export interface UploadsModuleDeps {
  config: OrchestratorConfig;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  idempotency: Idempotency;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

/** Three quarters of a bucket's connections. */
const DOWNLOADS_AT_ONCE = 192;

/** Close the module when no request or job uses it. */
export async function createUploadsModule(deps: UploadsModuleDeps) {
  const { config, idempotency, metrics, clock, logger } = deps;
  const { database, withTransaction, jobs } = deps.connections;
  const objects = await openObjects(config);
  const links = createUploadLinks({
    secret: config.CURSOR_KEY,
    previousSecrets: config.CURSOR_KEY_PREVIOUS,
    baseUrl: config.PUBLIC_URL ?? '',
    clock,
  });
  const service = createUploadService({
    withTransaction,
    database,
    jobs,
    objects,
    detailsOf: createFileDetails({ objects, logger }),
    idempotency,
    links,
    bytesPerUser: config.UPLOAD_BYTES_PER_USER,
    filesPerUser: config.UPLOADS_PER_USER,
    slots: createTransferSlots({
      maxConcurrent: config.UPLOADS_AT_ONCE,
      maxConcurrentPerOwner: config.UPLOADS_AT_ONCE_PER_USER,
    }),
    downloads: createTransferSlots({ maxConcurrent: DOWNLOADS_AT_ONCE, maxConcurrentPerOwner: DOWNLOADS_PER_FILE }),
    logger,
  });
  const retention: JobDefinition = {
    type: UPLOAD_JOB,
    handle: createUploadRetention({ withTransaction, jobs, objects }),
  };
  return {
    routes: uploadHandlers(measureUploads(service, metrics), {
      maxBytes: config.UPLOAD_BYTES,
      stallMs: config.UPLOAD_STALL_MS,
      minBytes: config.UPLOAD_MIN_BYTES,
    }),
    attachments: createAttachments({ links }),
    objects,
    jobs: [retention],
    close: objects.close,
  };
}

async function openObjects(config: OrchestratorConfig): Promise<ObjectStore> {
  const settings = objectSettings(config);
  if (settings.store === 'file') return createFileObjects(settings.directory);
  // Only an orchestrator with a bucket needs the S3 client, which is large.
  const { createS3Objects } = await import('./s3-objects.js');
  return createS3Objects({ ...settings, proxy: config.proxy });
}
