import { randomUUID } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Transaction, WithTransaction, Database } from '../../platform/database/database.js';
import type { LeasedJob, JobQueue } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import { AttemptLost, LeaseLost } from '../../platform/jobs/lost.js';
import type { ObjectStore } from '../../records/object-store.js';
import { putCounted } from '../../records/put-counted.js';
import { type ArchiveEntry, createArchive } from './archive.js';
import {
  type ExportRow,
  lockExport,
  deleteExport,
  beginExport,
  finishExport,
  failExport,
  getExport,
} from './exports.store.js';

/** Job types that build an export's archive and delete it when it expires or its user is deleted. */
export const EXPORT_JOB = 'export';
export const WORKSPACE_EXPORT_JOB = 'workspace-export';

export interface ExportBuildingDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'holds' | 'complete'>;
  objects: Pick<ObjectStore, 'put' | 'remove'>;
  /** @throws ApiError `user_not_found`; `workspace_not_found`, which fails the export */
  content: (
    of: { userId: string; workspaceId: string | null },
    now: Date,
  ) => Promise<Iterable<ArchiveEntry> | AsyncIterable<ArchiveEntry>>;
  /** The archive is deleted after this many ms. */
  keptMs: number;
  clock: Clock;
}

/** An export is marked as failed after this many failed attempts. */
const FAILURES = 5;

/**
 * Handles an export's job from creation to deletion. Each attempt writes a separate object, which the next attempt
 * removes. Only the lease holder can publish its object as the archive. Throws if an attempt failed, and once after
 * each attempt that ended without a result.
 */
export function createExportBuilding(deps: ExportBuildingDeps) {
  const { withTransaction, database, jobs, objects, content, keptMs, clock } = deps;

  /** @throws LeaseLost */
  function fenced(leased: LeasedJob, run: (tx: Transaction) => Promise<void>): Promise<void> {
    return withTransaction(async (tx) => {
      // Lock the export before the job, in the same order as an account deletion.
      if (!(await lockExport(tx, leased.subjectId)) || !(await jobs.holds(leased, tx))) throw new LeaseLost();
      await run(tx);
    });
  }

  async function remove(leased: LeasedJob, { object_id }: ExportRow): Promise<JobResult> {
    if (object_id !== null) await objects.remove(object_id);
    await fenced(leased, async (tx) => {
      await deleteExport(tx, leased.subjectId);
      await jobs.complete(leased, tx);
    });
    return { done: true };
  }

  async function build(leased: LeasedJob, row: ExportRow, userId: string, signal: AbortSignal): Promise<JobResult> {
    const objectId = randomUUID();
    if (row.object_id !== null) await objects.remove(row.object_id);
    await fenced(leased, (tx) => beginExport(tx, row.id, objectId));
    try {
      const now = clock.now();
      const archive = createArchive(await content({ userId, workspaceId: row.workspace_id }, now), now, signal);
      const size = await putCounted(objects, objectId, archive);
      await fenced(leased, (tx) => finishExport(tx, row.id, size, keptMs));
      return { againInMs: keptMs };
    } catch (error) {
      await objects.remove(objectId).catch(() => undefined);
      throw error;
    }
  }

  async function fail(leased: LeasedJob, { id, object_id }: ExportRow): Promise<JobResult> {
    if (object_id !== null) await objects.remove(object_id);
    await fenced(leased, (tx) => failExport(tx, id, keptMs));
    return { againInMs: keptMs };
  }

  return async (leased: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const row = await getExport(database, leased.subjectId);
    if (row === undefined) return { done: true };
    const leftMs = row.expires_at === null ? Infinity : row.expires_at.getTime() - clock.now().getTime();
    if (row.user_id === null || leftMs <= 0) return remove(leased, row);
    if (row.status === 'ready' || row.status === 'failed') return { againInMs: leftMs };
    const isLost = leased.takenOver && row.status === 'running';
    if (leased.failures + Number(isLost) >= FAILURES) return fail(leased, row);
    if (isLost) throw new AttemptLost();
    try {
      return await build(leased, row, row.user_id, signal);
    } catch (error) {
      // The process is stopping, or the user was deleted. The next lease holder continues.
      const code = error instanceof ApiError ? error.code : undefined;
      if (signal.aborted || code === 'user_not_found') return { againInMs: 0 };
      if (code === 'workspace_not_found') return fail(leased, row);
      throw error;
    }
  };
}
