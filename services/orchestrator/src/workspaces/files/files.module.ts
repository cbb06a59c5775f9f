import type { FileWriter } from '@uswarm/file-writer';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { EventStore } from '../../records/events.store.js';
import type { ObjectStore } from '../../records/object-store.js';
import { createSafeMarkdown } from '../../turns/content/reply-text.js';
import type { Attachments } from '../uploads/attachments.js';
import { storeFile } from '../uploads/store-file.js';
import { createUploadStore } from '../uploads/uploads.store.js';
import { createFileTools } from './file-tools.js';

export interface FilesModuleDeps {
  config: Pick<OrchestratorConfig, 'PUBLIC_URL' | 'UPLOAD_BYTES_PER_USER' | 'UPLOADS_PER_USER'>;
  background: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  events: Pick<EventStore, 'addMessage'>;
  objects: ObjectStore;
  attachments: Pick<Attachments, 'resolve' | 'attach'>;
  writer: FileWriter;
}

export function createFilesModule({ config, background, events, objects, attachments, writer }: FilesModuleDeps) {
  const { database, withTransaction, jobs } = background;
  const stored = {
    withTransaction,
    jobs,
    objects,
    store: createUploadStore(database),
    bytesPerUser: config.UPLOAD_BYTES_PER_USER,
    filesPerUser: config.UPLOADS_PER_USER,
  };
  return {
    tools: createFileTools({
      writer,
      store: (userId, upload, bytes) => storeFile(stored, userId, upload, bytes),
      attachments,
      events,
      markdown: createSafeMarkdown(config.PUBLIC_URL),
    }),
  };
}
