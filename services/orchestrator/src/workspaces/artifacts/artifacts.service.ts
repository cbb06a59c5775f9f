import {
  ApiError,
  type Artifact,
  type ArtifactPage,
  type ArtifactSummary,
  type ArtifactVersion,
  LIMITS,
} from '@uswarm/contract';
import { FileNotWritten, type FileWriter, type WrittenFile } from '@uswarm/file-writer';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { fitting, jsonBytes } from '../../platform/http/bounded-list.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import type { SafeMarkdown } from '../../turns/content/reply-text.js';
import { ObjectMissing } from '../../records/object-store.js';
import type { ArtifactContents } from './artifact-contents.js';
import {
  type ArtifactRow,
  type VersionRow,
  listArtifacts,
  findArtifact,
  listArtifactVersions,
  lockArtifacts,
  deleteArtifact,
} from './artifacts.store.js';

export interface ArtifactServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  contents: Pick<ArtifactContents, 'read'>;
  access: WorkspaceAccess;
  cursors: ListCursorCodec;
  writer: Pick<FileWriter, 'write'>;
  /** Users see sanitized Markdown. Agents read what they wrote. */
  markdown: Pick<SafeMarkdown, 'text'>;
}

export interface ArtifactQuery {
  scrollId?: string | undefined;
  limit?: number | undefined;
}

export interface ArtifactFileQuery {
  format: 'docx' | 'pdf';
  version?: number | undefined;
}

export interface ArtifactFile {
  /** A version never changes. */
  etag: string;
  write: () => Promise<WrittenFile>;
}

/** Per user: a file takes up to ten seconds of a processor. */
const FILES_AT_ONCE = 2;
const BUSY_RETRY_MS = 2_000;

/** All methods throw ApiError `workspace_not_found`, and the errors noted. */
export interface ArtifactService {
  /** Last changed first; as many as fit into one response. @throws ApiError `cursor_invalid` */
  list(userId: string, workspaceId: string, query: ArtifactQuery): Promise<ArtifactPage>;
  /** Default: the latest version. @throws ApiError `artifact_not_found` */
  get(userId: string, workspaceId: string, id: string, version?: number): Promise<Artifact>;
  /**
   * A version as a file, by default the latest.
   *
   * @throws ApiError `artifact_not_found`, `upload_too_large`, `rate_limited`, and `validation_failed` if the format
   *   cannot have the content
   */
  file(userId: string, workspaceId: string, id: string, query: ArtifactFileQuery): Promise<ArtifactFile>;
  /** @throws ApiError `artifact_not_found` */
  delete(userId: string, workspaceId: string, id: string): Promise<void>;
}

export function createArtifactService(deps: ArtifactServiceDeps): ArtifactService {
  const { withTransaction, database, contents, access, cursors, markdown, writer } = deps;
  const writing = new Map<string, number>();

  const versionView = (row: VersionRow): ArtifactVersion => ({
    version: row.version,
    title: markdown.text(row.title),
    status: row.status,
    agent_slug: row.agent_slug,
    content_preview: markdown.text(row.preview),
    size: row.size,
    created_at: row.created_at.toISOString(),
  });

  const summaryView = (row: ArtifactRow): ArtifactSummary => ({
    id: row.id,
    conversation_id: row.conversation_id,
    ...versionView(row),
  });

  return {
    async list(userId, workspaceId, { scrollId, limit = LIMITS.artifactsPerWorkspace }) {
      await access.require(userId, workspaceId);
      const scope = [userId, workspaceId];
      const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const rows = await listArtifacts(database, workspaceId, limit + 1, after);
      const page = fitting(rows.slice(0, limit), (row) => jsonBytes(summaryView(row)));
      const last = page.at(-1);
      const next = last === undefined || page.length === rows.length ? null : cursors.encode(last.position, scope);
      return {
        data: page.map(summaryView),
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },

    async get(userId, workspaceId, id, version) {
      await access.require(userId, workspaceId);
      const row = await findArtifact(database, workspaceId, id, version);
      if (row === undefined) throw new ApiError('artifact_not_found');
      const [versions, stored] = await Promise.all([listArtifactVersions(database, id), readExisting(row)]);
      const content = markdown.text(stored);
      return { ...summaryView(row), latest_version: row.latest, content, versions: versions.map(versionView) };
    },

    async file(userId, workspaceId, id, { format, version }) {
      await access.require(userId, workspaceId);
      const row = await findArtifact(database, workspaceId, id, version);
      if (row === undefined) throw new ApiError('artifact_not_found');
      return { etag: `"${row.object_id}-${format}"`, write: () => writeVersion(userId, row, format) };
    },

    async delete(userId, workspaceId, id) {
      await access.require(userId, workspaceId);
      const isDeleted = await withTransaction(async (tx) => {
        await lockArtifacts(tx, workspaceId);
        return deleteArtifact(tx, workspaceId, id);
      });
      if (!isDeleted) throw new ApiError('artifact_not_found');
    },
  };

  async function writeVersion(
    userId: string,
    row: ArtifactRow,
    type: ArtifactFileQuery['format'],
  ): Promise<WrittenFile> {
    const running = writing.get(userId) ?? 0;
    if (running >= FILES_AT_ONCE) throw new ApiError('rate_limited', { extra: { retry_after_ms: BUSY_RETRY_MS } });
    writing.set(userId, running + 1);
    try {
      const content = markdown.text(await readExisting(row));
      // A slash would begin a folder.
      const name = markdown.text(row.title).replaceAll(/[/\\]/g, ' ');
      return await writer.write({ type, name, content }, { owner: userId });
    } catch (error) {
      throw error instanceof FileNotWritten ? refusalOf(error) : error;
    } finally {
      const left = (writing.get(userId) ?? 1) - 1;
      if (left === 0) writing.delete(userId);
      else writing.set(userId, left);
    }
  }

  /** The user may delete the artifact while it is read. */
  async function readExisting({ object_id }: ArtifactRow): Promise<string> {
    try {
      return await contents.read(object_id);
    } catch (error) {
      throw error instanceof ObjectMissing ? new ApiError('artifact_not_found') : error;
    }
  }
}

function refusalOf({ reason, message }: FileNotWritten): ApiError {
  if (reason === 'limit') return new ApiError('upload_too_large', { message });
  if (reason === 'busy') return new ApiError('rate_limited', { extra: { retry_after_ms: BUSY_RETRY_MS } });
  return new ApiError('validation_failed', { extra: { fields: [{ path: 'format', message }] } });
}
