import { createFileReader } from '@uswarm/file-reader';
import type { Logger } from '@uswarm/service-kit';
import type { Database } from '../../platform/database/database.js';
import type { ObjectStore } from '../../records/object-store.js';
import { conversationFiles, newestFiles } from './conversation-files.js';
import { createFileContents } from './file-contents.js';
import { createReadFileTool } from './read-file-tool.js';

export interface FilesModuleDeps {
  /** For turns. */
  database: Database;
  objects: ObjectStore;
  logger: Pick<Logger, 'warn'>;
}

/** Relative to this module, also in a bundle. */
const PROGRAM = new URL('../../file-reader-main.js', import.meta.url);

/** The files of a conversation that a call can name. */
const NAMED = 200;

/** Close the module when no turn runs. */
export function createFilesModule({ database, objects, logger }: FilesModuleDeps) {
  const reader = createFileReader({
    program: PROGRAM,
    onCrash: ({ task, exit }) => logger.warn({ task, exit }, 'the process that reads a file crashed'),
  });
  const contents = createFileContents({ objects, reader });
  return {
    contents,
    attachmentsIn: (conversationId: string, ids: readonly string[]) => conversationFiles(database, conversationId, ids),
    tools: [createReadFileTool({ contents, files: (conversationId) => newestFiles(database, conversationId, NAMED) })],
    close: () => reader.close(),
  };
}
