import { randomUUIDv7 } from 'node:crypto';
import { ApiError, type Export } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { DownloadRequest, LinkedFile, OpenedFile } from '../../workspaces/uploads/download.js';
import type { FileLinks } from '../../workspaces/uploads/upload-links.js';
import { EXPORT_JOB, WORKSPACE_EXPORT_JOB } from './export-building.js';
import { type ExportRow, listExports, insertExport, getExport } from './exports.store.js';
import { lockUser } from '../../records/lock-user.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';

export interface ExportServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue'>;
  links: FileLinks;
  access: WorkspaceAccess;
  openFile: (file: LinkedFile, request: DownloadRequest) => OpenedFile;
  /** Minimum time between a user's exports in ms. */
  intervalMs: number;
  clock: Clock;
}

export interface ExportService {
  /**
   * Starts an export (without `workspaceId`, the account's), or returns the unfinished one.
   *
   * @throws ApiError `workspace_not_found`, `export_limit_reached`
   */
  request(userId: string, workspaceId?: string): Promise<Export>;
  /** The account's; as `request`, but returns the newest export if the user may not start another. @throws ApiError `user_not_found` */
  current(userId: string): Promise<Export>;
  /** Without `workspaceId`, the account's. @throws ApiError `workspace_not_found` */
  list(userId: string, workspaceId?: string): Promise<Export[]>;
  /** @throws ApiError `export_not_found` */
  get(userId: string, id: string): Promise<Export>;
  /** @throws ApiError `upload_link_invalid`, `export_not_found`, `range_not_satisfiable` */
  download(request: DownloadRequest): Promise<OpenedFile & { createdAt: Date; workspaceId: string | null }>;
}

const isUnfinished = ({ status }: ExportRow): boolean => status === 'pending' || status === 'running';

export function createExportService(deps: ExportServiceDeps): ExportService {
  const { withTransaction, database, jobs, access, links, openFile, intervalMs, clock } = deps;
  const expired = ({ expires_at }: ExportRow): boolean =>
    expires_at !== null && expires_at.getTime() <= clock.now().getTime();

  const view = (row: ExportRow): Export => ({
    id: row.id,
    status: row.status,
    workspace_id: row.workspace_id,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    size: row.size,
    url: row.status === 'ready' ? links.url(row.id) : null,
  });

  /** `waitMs`: until the user may start another one, if `row` is the last one. */
  async function startOrFind(
    tx: Transaction,
    userId: string,
    workspaceId: string | null,
  ): Promise<{ row: ExportRow; waitMs: number }> {
    const rows = await listExports(tx, userId, workspaceId);
    const unfinished = rows.find(isUnfinished);
    if (unfinished !== undefined) return { row: unfinished, waitMs: 0 };
    const last = rows.find(({ status }) => status === 'ready');
    const waitMs = last === undefined ? 0 : last.created_at.getTime() + intervalMs - clock.now().getTime();
    if (last !== undefined && waitMs > 0) return { row: last, waitMs };
    const row = await insertExport(tx, { id: randomUUIDv7(), userId, workspaceId });
    const kind = workspaceId === null ? EXPORT_JOB : WORKSPACE_EXPORT_JOB;
    await jobs.enqueue({ kind, subjectId: row.id, workspaceId: row.id }, tx);
    return { row, waitMs: 0 };
  }

  return {
    async request(userId, workspaceId) {
      if (workspaceId !== undefined) await access.require(userId, workspaceId);
      return withTransaction(async (tx) => {
        // Serialize requests per user, so that the second one finds the first one's export.
        if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
        const { row, waitMs } = await startOrFind(tx, userId, workspaceId ?? null);
        if (waitMs > 0) throw new ApiError('export_limit_reached', { extra: { retry_after_ms: waitMs } });
        return view(row);
      });
    },

    current: (userId) =>
      withTransaction(async (tx) => {
        if (!(await lockUser(tx, userId))) throw new ApiError('user_not_found');
        return view((await startOrFind(tx, userId, null)).row);
      }),

    async list(userId, workspaceId) {
      if (workspaceId !== undefined) await access.require(userId, workspaceId);
      const rows = await listExports(database, userId, workspaceId ?? null);
      return rows.filter((row) => !expired(row)).map(view);
    },

    async get(userId, id) {
      const row = await getExport(database, id);
      if (row === undefined || row.user_id !== userId || expired(row)) throw new ApiError('export_not_found');
      return view(row);
    },

    async download(request) {
      const secondsLeft = links.secondsLeft(request.id, request.signature);
      if (secondsLeft === undefined) throw new ApiError('upload_link_invalid');
      const row = await getExport(database, request.id);
      if (row?.status !== 'ready' || row.user_id === null || row.object_id === null || expired(row)) {
        throw new ApiError('export_not_found');
      }
      const file = { key: row.object_id, size: row.size ?? 0, secondsLeft };
      return { ...openFile(file, request), createdAt: row.created_at, workspaceId: row.workspace_id };
    },
  };
}
