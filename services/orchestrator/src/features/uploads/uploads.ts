import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import { objectSettings, type OrchestratorConfig } from '../../config.js';
import type { WithTransaction } from '../../database/database.js';
import type { JobWorkerDeps } from '../../jobs/job-worker.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { Idempotency } from '../idempotency/idempotency.service.js';
import { type Attachments, createAttachments } from './attachments.js';
import { createFileObjects } from './file-objects.js';
import type { ObjectStore } from './object-store.js';
import { createS3Objects } from './s3-objects.js';
import { createUploadKeeping } from './upload-retention.js';
import { createUploadLinks } from './upload-links.js';
import { measureUploads } from './upload-metrics.js';
import { uploadHandlers } from './uploads.routes.js';
import { createUploadService } from './uploads.service.js';
import type { UploadStore } from './uploads.store.js';

export interface UploadsDeps {
  config: OrchestratorConfig;
  stores: { uploads: UploadStore; jobs: JobStore };
  withTransaction: WithTransaction;
  idempotency: Idempotency;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

/** Everything about uploads, wired together. */
export interface Uploads {
  handlers: ReturnType<typeof uploadHandlers>;
  attachments: Attachments;
  objects: ObjectStore;
  /** Handles work of kind `upload`. */
  keep: JobWorkerDeps['handle'];
  close(): void;
}

export function createUploads({
  config,
  stores,
  withTransaction,
  idempotency,
  metrics,
  clock,
  logger,
}: UploadsDeps): Uploads {
  const objects = openObjects(config);
  const links = createUploadLinks({
    secret: config.CURSOR_KEY,
    previousSecrets: config.CURSOR_KEY_PREVIOUS,
    baseUrl: config.PUBLIC_URL ?? '',
    clock,
  });
  const shared = { withTransaction, store: stores.uploads, jobs: stores.jobs, objects };
  const service = createUploadService({
    ...shared,
    idempotency,
    links,
    bytesPerUser: config.UPLOAD_BYTES_PER_USER,
    filesPerUser: config.UPLOADS_PER_USER,
    atOnce: config.UPLOADS_AT_ONCE,
    atOncePerUser: config.UPLOADS_AT_ONCE_PER_USER,
    logger,
  });
  return {
    handlers: uploadHandlers(measureUploads(service, metrics), {
      maxBytes: config.UPLOAD_BYTES,
      stallMs: config.UPLOAD_STALL_MS,
    }),
    attachments: createAttachments({ store: stores.uploads, links }),
    objects,
    keep: createUploadKeeping(shared),
    close: objects.close,
  };
}

function openObjects(config: OrchestratorConfig): ObjectStore {
  const settings = objectSettings(config);
  return settings.store === 'file' ? createFileObjects(settings.directory) : createS3Objects(settings);
}
