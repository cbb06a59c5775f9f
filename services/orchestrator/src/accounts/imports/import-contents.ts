import { Readable } from 'node:stream';
import { storable } from '@uswarm/service-kit';
import { artifactPath, filePath } from '@uswarm/swarm-file';
import type { Database } from '../../platform/database/database.js';
import type { SafeMarkdown } from '../../turns/content/reply-text.js';
import type { ArtifactContents } from '../../workspaces/artifacts/artifact-contents.js';
import { previewOf } from '../../workspaces/artifacts/artifact-preview.js';
import { MOST_CHARACTERS as TRANSCRIPT_CHARACTERS } from '../../workspaces/transcripts/transcription-job.js';
import { attachmentType, sniffMediaType } from '../../workspaces/uploads/file-kind.js';
import { cleanName } from '../../workspaces/uploads/file-names.js';
import { readHead } from '../../workspaces/uploads/receive-upload.js';
import { storeFile, type StoreFileDeps } from '../../workspaces/uploads/store-file.js';
import { findUpload } from '../../workspaces/uploads/uploads.store.js';
import { ImportFailed } from './import-failed.js';
import { ImportedArtifact, ImportedUpload } from './import-rows.js';
import { importedId } from './imported-id.js';
import { type Restoring, rowsOf, shortText } from './read-rows.js';
import type { StoredDocument } from './restore.js';

export interface ImportContentsDeps {
  database: Database;
  uploads: Required<StoreFileDeps>;
  contents: Pick<ArtifactContents, 'put'>;
  markdown: Pick<SafeMarkdown, 'text'>;
  /** Maximum artifacts, and bytes per file. */
  artifacts: number;
  fileBytes: number;
}

/** Safe Markdown can be longer. */
const DOCUMENT_BYTES = 256 * 1024;

/**
 * Stores files and documents before the rows, so that an import continues after a crash. Without rows they are deleted
 * like an upload without a message.
 */
export function createImportContents(deps: ImportContentsDeps) {
  const { database, uploads, contents, markdown } = deps;

  /** The bytes determine type and size. */
  async function files(restoring: Restoring, signal: AbortSignal): Promise<void> {
    const { importId, userId, file } = restoring;
    for await (const row of rowsOf(restoring, 'files', ImportedUpload, uploads.filesPerUser)) {
      signal.throwIfAborted();
      const [id, path] = [importedId(importId, row.id), filePath(row.id)];
      const size = file.sizeOf(path);
      if (size === undefined || (await findUpload(database, id)) !== undefined) continue;
      if (size > deps.fileBytes) throw new ImportFailed('too_large', `${path} is too large`);
      const { head, content } = await begun(await file.open(path));
      const mime_type = await sniffMediaType(head);
      const transcript = row.transcript?.slice(0, TRANSCRIPT_CHARACTERS) ?? null;
      const details = { duration: null, width: null, height: null, transcript };
      const upload = { id, name: cleanName(row.name), type: attachmentType(mime_type), mime_type, size, ...details };
      await storeFile(uploads, userId, upload, content).catch((error: Error) => {
        // The file is not what was signed, or the store of its archive failed.
        throw content.errored ?? error;
      });
    }
  }

  /** By path in the file. A version whose content was lost is empty. */
  async function documents(restoring: Restoring, signal: AbortSignal): Promise<Map<string, StoredDocument>> {
    const { importId, file } = restoring;
    const stored = new Map<string, StoredDocument>();
    for await (const { id, versions } of rowsOf(restoring, 'artifacts', ImportedArtifact, deps.artifacts)) {
      for (const { version } of versions) {
        signal.throwIfAborted();
        const path = artifactPath(id, version);
        const isKept = file.sizeOf(path) !== undefined;
        const content = isKept ? markdown.text(storable(await shortText(file, path, DOCUMENT_BYTES))) : '';
        const object_id = await contents.put({ turnId: importId, id: path }, content);
        stored.set(path, { object_id, size: Buffer.byteLength(content), preview: previewOf(content) });
      }
    }
    return stored;
  }

  return { files, documents };
}

/** A stream whose beginning is known. */
async function begun(source: Readable): Promise<{ head: Buffer; content: Readable }> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const { head, all } = await readHead(chunks);
  async function* closing(): AsyncGenerator<Buffer> {
    try {
      yield* all;
    } finally {
      source.destroy();
    }
  }
  return { head, content: Readable.from(closing(), { objectMode: false }) };
}
