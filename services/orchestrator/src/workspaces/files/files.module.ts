import { createCodeRunner } from '@uswarm/code-runner';
import type { FileReader } from '@uswarm/file-reader';
import { buffer } from 'node:stream/consumers';
import type { FileWriter } from '@uswarm/file-writer';
import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { EventLog } from '../../records/event-log.js';
import type { ObjectStore } from '../../records/object-store.js';
import type { Transcripts } from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import { createSafeMarkdown } from '../../turns/content/reply-text.js';
import type { Attachments } from '../uploads/attachments.js';
import { sniffMediaType, SNIFFED_BYTES } from '../uploads/file-kind.js';
import { storeFile } from '../uploads/store-file.js';
import { conversationFiles, newestFiles } from './conversation-files.js';
import { createAttachedTexts } from './attached-texts.js';
import { createFileContents } from './file-contents.js';
import { type CodeToolDeps, createCodeTool } from './code-tool.js';
import { createFileTools } from './file-tools.js';
import { createGivenFiles, type GivenFilesDeps, uploadOf } from './given-files.js';
import { createReadFileTool } from './read-file-tool.js';

export interface FilesModuleDeps {
  config: Pick<
    OrchestratorConfig,
    'PUBLIC_URL' | 'UPLOAD_BYTES_PER_USER' | 'UPLOADS_PER_USER' | 'CODE_RUNNER_ENABLED' | 'CODE_RUNNER_PROCESSES'
  >;
  background: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  events: Pick<EventLog, 'addMessage' | 'append'>;
  objects: ObjectStore;
  attachments: Pick<Attachments, 'resolve' | 'attach'>;
  transcripts: Transcripts;
  reader: Pick<FileReader, 'text' | 'picture' | 'pages'>;
  writer: FileWriter;
  artifactById: CodeToolDeps['artifactById'];
  logger: Pick<Logger, 'warn' | 'debug'>;
}

/** Relative to this module, also in a bundle. */
const RUNNER = new URL('../../code-runner-main.js', import.meta.url);

/** A call can name a file by its name among this many. */
const NAMED = 200;

/** Close the module when no turn runs. */
export function createFilesModule(deps: FilesModuleDeps) {
  const { config, background, events, objects, attachments, transcripts, reader, writer, artifactById, logger } = deps;
  const { database, withTransaction, jobs } = background;
  const contents = createFileContents({ objects, reader, logger });
  const stored = {
    withTransaction,
    jobs,
    objects,
    bytesPerUser: config.UPLOAD_BYTES_PER_USER,
    filesPerUser: config.UPLOADS_PER_USER,
  };
  const markdown = createSafeMarkdown(config.PUBLIC_URL);
  const store: GivenFilesDeps['store'] = (userId, upload, bytes) => storeFile(stored, userId, upload, bytes);
  const given = createGivenFiles({
    store,
    attachments,
    events,
    markdown,
  });
  const attached = {
    fileById: async (conversationId: string, id: string) =>
      (await conversationFiles(database, conversationId, [id]))[0],
    newest: (conversationId: string) => newestFiles(database, conversationId, NAMED),
  };
  const runner = createCodeRunner({
    program: RUNNER,
    processes: config.CODE_RUNNER_PROCESSES,
    onCrash: ({ language, exit }) => logger.warn({ language, exit }, 'the process that runs code crashed'),
  });
  const bytesOf = async ({ id }: StoredFile) => new Uint8Array(await buffer(await objects.open(id)));
  const codeTools = config.CODE_RUNNER_ENABLED
    ? [createCodeTool({ ...attached, runner, bytesOf, artifactById, given })]
    : [];
  return {
    contents,
    /** Stores bytes that neither the user nor an agent has written, once per id. */
    async store(userId: string, { id, name, bytes }: { id: string; name: string; bytes: Buffer }): Promise<void> {
      const type = await sniffMediaType(bytes.subarray(0, SNIFFED_BYTES));
      await store(userId, uploadOf(id, { name, type, bytes }), bytes);
    },
    attachmentsIn: (conversationId: string, ids: readonly string[]) => conversationFiles(database, conversationId, ids),
    attachedTexts: createAttachedTexts(contents, attached.newest, logger),
    tools: [
      createReadFileTool({ ...attached, contents, transcripts }),
      ...createFileTools({ writer, given, markdown }),
      ...codeTools,
    ],
    close: () => runner.close(),
  };
}
