import { Readable } from 'node:stream';
import { ApiError, type Receipt, type ReceiptKeySet } from '@uswarm/contract';
import type { ReceiptSigner } from '@uswarm/service-kit';
import {
  artifactPath,
  type Content,
  filePath,
  KEYS_PATH,
  sealed,
  type Table,
  tablePath,
  WORKSPACE_PATH,
} from '@uswarm/swarm-file';
import type { Database } from '../../platform/database/database.js';
import { ObjectMissing, type ObjectStore } from '../../records/object-store.js';
import type { ReceiptService } from '../../turns/receipts/receipts.service.js';
import {
  fileAgents,
  fileArtifacts,
  fileConversations,
  type FileRow,
  fileMemories,
  fileMessages,
  fileSchedules,
  fileUploads,
  fileVersions,
  fileWorkspace,
} from './workspace-file.store.js';

export interface WorkspaceFileDeps {
  database: Database;
  receipts: Pick<ReceiptService, 'all' | 'keys' | 'imported' | 'importedKeys'>;
  signer: Pick<ReceiptSigner, 'signManifest'>;
  objects: Pick<ObjectStore, 'open'>;
}

/** Rows in memory. A message can have up to a megabyte. */
const PAGE = 100;
const MESSAGES = 20;

type Read<Row> = (after: Row | undefined, limit: number) => Promise<Row[]>;

async function* pages<Row>(read: Read<Row>, limit = PAGE): AsyncGenerator<Row> {
  for (let after: Row | undefined; ;) {
    const page = await read(after, limit);
    yield* page;
    after = page.at(-1);
    if (after === undefined || page.length < limit) return;
  }
}

const text = (path: string, lines: AsyncIterable<unknown>): Content => ({
  path,
  compress: true,
  open: async () => Readable.from(written(lines), { objectMode: false }),
});

async function* written(values: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`);
}

async function* one(value: unknown): AsyncGenerator<unknown> {
  yield value;
}

const table = (name: Table, rows: AsyncIterable<unknown>): Content => text(tablePath(name), rows);

/**
 * Writes a workspace in the format of docs/swarm-file.md. It is read while users and agents work: what others refer to is
 * read after them, so that a reference has its target unless it was deleted meanwhile.
 */
export function createWorkspaceFile({ database, receipts, signer, objects }: WorkspaceFileDeps) {
  /** @returns undefined if it was deleted meanwhile */
  async function stored(path: string, key: string, compress: boolean): Promise<Content | undefined> {
    try {
      const content = await objects.open(key);
      return { path, compress, open: async () => content };
    } catch (error) {
      if (error instanceof ObjectMissing) return undefined;
      throw error;
    }
  }

  /** Own ones that are final, then imported ones. */
  async function* allReceipts(userId: string, workspaceId: string): AsyncGenerator<Receipt> {
    yield* signed(receipts.all(userId, workspaceId));
    yield* receipts.imported(workspaceId);
  }

  /** An imported workspace can have receipts that this installation signed before. */
  async function allKeys(workspaceId: string): Promise<ReceiptKeySet['keys']> {
    const { keys } = await receipts.keys();
    const others = await receipts.importedKeys(workspaceId);
    return [...keys, ...others.filter(({ kid }) => keys.every((own) => own.kid !== kid))];
  }

  async function* contents(userId: string, workspace: FileRow): AsyncGenerator<Content> {
    const { id } = workspace;
    const rowsOf =
      <Row>(page: (db: Database, workspaceId: string, after: Row | undefined, limit: number) => Promise<Row[]>) =>
      (after: Row | undefined, limit: number): Promise<Row[]> =>
        page(database, id, after, limit);
    yield text(WORKSPACE_PATH, one(workspace));
    yield table('conversations', pages(rowsOf(fileConversations)));
    yield table('messages', pages(rowsOf(fileMessages), MESSAGES));
    yield table('artifacts', pages(rowsOf(fileArtifacts)));
    for await (const artifact of pages(rowsOf(fileArtifacts))) {
      for (const { version, object_id: key } of await fileVersions(database, artifact.id)) {
        const content = await stored(artifactPath(artifact.id, version), key, true);
        if (content !== undefined) yield content;
      }
    }
    yield table('schedules', pages(rowsOf(fileSchedules)));
    yield table('memories', memories(pages(rowsOf(fileMemories))));
    yield table('agents', pages(rowsOf(fileAgents)));
    yield table('receipts', allReceipts(userId, id));
    yield text(KEYS_PATH, one({ keys: await allKeys(id) }));
    yield table('files', pages(rowsOf(fileUploads)));
    for await (const upload of pages(rowsOf(fileUploads))) {
      const content = await stored(filePath(upload.id), upload.id, false);
      if (content !== undefined) yield content;
    }
  }

  /** @throws ApiError `workspace_not_found` */
  return async (userId: string, workspaceId: string, now: Date): Promise<AsyncIterable<Content>> => {
    const workspace = await fileWorkspace(database, workspaceId, userId);
    if (workspace === undefined) throw new ApiError('workspace_not_found');
    const about = { created_at: now.toISOString(), workspace_id: workspaceId };
    return sealed(contents(userId, workspace), about, signer);
  };
}

/** A call that has not ended has no signature, and its receipt is not final. */
async function* signed(receipts: AsyncIterable<Receipt>): AsyncGenerator<Receipt> {
  for await (const receipt of receipts) if (receipt.jws !== null) yield receipt;
}

async function* memories(rows: AsyncIterable<FileRow>): AsyncGenerator<unknown> {
  for await (const { id, ...memory } of rows) yield { agent_id: id, ...memory };
}
