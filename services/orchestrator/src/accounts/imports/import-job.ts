import { ApiError, type ImportProblem } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import { openRemoteSwarmFile, type SwarmFile, SwarmFileError } from '@uswarm/swarm-file';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { LeasedJob, JobQueue } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import { AttemptLost, LeaseLost } from '../../platform/jobs/lost.js';
import type { ObjectStore } from '../../records/object-store.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { lockOwnedWorkspaces } from '../../records/users.store.js';
import type { createImportContents } from './import-contents.js';
import { ImportFailed } from './import-failed.js';
import {
  beginImport,
  deleteImport,
  endImport,
  forgetObject,
  getImport,
  type ImportRow,
  lockImport,
} from './imports.store.js';
import type { Restoring } from './read-rows.js';
import { requireTextRoom } from './text-room.js';
import type { createRestore } from './restore.js';

/** Job type that imports a file, and deletes what is left of it. */
export const IMPORT_JOB = 'workspace-import';

export interface ImportJobDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'holds' | 'complete'>;
  objects: Pick<ObjectStore, 'open' | 'remove'>;
  contents: ReturnType<typeof createImportContents>;
  restore: ReturnType<typeof createRestore>;
  runtimes: Pick<RuntimeRequests, 'requestRunning'>;
  /** Tells the user's devices. */
  announce: (userId: string, workspaceId: string) => Promise<void>;
  workspacesPerUser: number;
  /** An import is deleted this many ms after its end. */
  keptMs: number;
  clock: Clock;
  logger: Logger;
}

/** An import fails after this many failed attempts. */
const FAILURES = 5;
/** Text compresses well, so a small file can contain much. */
const TEXT_BYTES = 1024 ** 3;

/** Why the file can never be imported; undefined if another attempt may succeed. */
function problemOf(error: unknown): ImportProblem | undefined {
  if (error instanceof ImportFailed || error instanceof SwarmFileError) return error.problem;
  if (error instanceof ApiError && /_(?:limit_reached|quota_exceeded)$/.test(error.code)) return 'limit_reached';
  // SQLSTATE classes 22 and 23: a row breaks a table's rule.
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^2[23]/.test(code) ? 'rows_invalid' : undefined;
}

/**
 * Handles an import from its file to its deletion. Files and documents are stored first, and are not stored again after
 * a crash. Then one transaction writes all rows, so that no one sees a part.
 */
export function createImportJob(deps: ImportJobDeps) {
  const { withTransaction, database, jobs, objects, clock } = deps;

  /** @throws LeaseLost */
  function fenced<Result>(
    leased: LeasedJob,
    run: (tx: Transaction, userId: string) => Promise<Result>,
  ): Promise<Result> {
    return withTransaction(async (tx) => {
      // Lock the import before the job, in the same order as an account deletion.
      const userId = await lockImport(tx, leased.subjectId);
      if (userId === undefined || !(await jobs.holds(leased, tx))) throw new LeaseLost();
      return run(tx, userId);
    });
  }

  async function remove(leased: LeasedJob, { id, object_id }: ImportRow): Promise<JobResult> {
    if (object_id !== null) await objects.remove(object_id);
    await withTransaction(async (tx) => {
      await deleteImport(tx, id);
      await jobs.complete(leased, tx);
    });
    return { done: true };
  }

  async function fail(leased: LeasedJob, row: ImportRow, problem: ImportProblem): Promise<JobResult> {
    await fenced(leased, (tx) => endImport(tx, row.id, { status: 'failed', problem }, deps.keptMs));
    return clean(row, deps.keptMs);
  }

  async function clean({ id, object_id }: ImportRow, againInMs: number): Promise<JobResult> {
    if (object_id !== null) await objects.remove(object_id);
    await forgetObject(database, id);
    return { againInMs };
  }

  async function announce(userId: string, workspaceId: string): Promise<void> {
    try {
      await deps.announce(userId, workspaceId);
    } catch (error) {
      // The user has deleted it already.
      if (!(error instanceof ApiError) || error.code !== 'workspace_not_found') throw error;
    }
  }

  async function restored(leased: LeasedJob, restoring: Restoring, signal: AbortSignal): Promise<string> {
    const { file } = restoring;
    await file.verifySignature(file.keys);
    requireTextRoom(file.manifest.members, TEXT_BYTES);
    await deps.contents.files(restoring, signal);
    const documents = await deps.contents.documents(restoring, signal);
    return fenced(leased, async (tx, userId) => {
      const workspaceId = await deps.restore(restoring, documents, tx);
      // Last, because other requests of the user wait for this lock.
      const owned = await lockOwnedWorkspaces(tx, userId);
      if (owned.length > deps.workspacesPerUser) throw new ImportFailed('limit_reached', 'too many workspaces');
      await deps.runtimes.requestRunning(workspaceId, userId, tx);
      await endImport(tx, restoring.importId, { status: 'done', workspace_id: workspaceId }, deps.keptMs);
      return workspaceId;
    });
  }

  async function attempt(leased: LeasedJob, row: ImportRow, userId: string, signal: AbortSignal): Promise<JobResult> {
    const key = row.object_id ?? row.id;
    let file: SwarmFile | undefined;
    let workspaceId: string;
    try {
      await fenced(leased, (tx) => beginImport(tx, row.id));
      file = await openRemoteSwarmFile({ size: row.size, open: (range) => objects.open(key, range) });
      workspaceId = await restored(leased, { importId: row.id, userId, file }, signal);
    } catch (error) {
      if (signal.aborted) return { againInMs: 0 };
      const problem = problemOf(error);
      if (problem === undefined) throw error;
      deps.logger.info({ err: error, import: row.id, problem }, 'a file cannot be imported');
      return fail(leased, row, problem);
    } finally {
      file?.close();
    }
    await announce(userId, workspaceId);
    return clean(row, deps.keptMs);
  }

  return async (leased: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const row = await getImport(database, leased.subjectId);
    if (row === undefined) return { done: true };
    const leftMs = row.expires_at === null ? Infinity : row.expires_at.getTime() - clock.now().getTime();
    // Also one whose file was never complete: the job is due long after any request.
    if (row.user_id === null || row.status === 'receiving' || leftMs <= 0) return remove(leased, row);
    // A process that was killed after its commit may have told no one.
    if (row.status === 'done' && row.object_id !== null && row.workspace_id !== null)
      await announce(row.user_id, row.workspace_id);
    if (row.status === 'done' || row.status === 'failed') return clean(row, leftMs);
    const isLost = leased.takenOver && row.status === 'running';
    if (leased.failures + Number(isLost) >= FAILURES) return fail(leased, row, 'internal_error');
    if (isLost) throw new AttemptLost();
    return attempt(leased, row, row.user_id, signal);
  };
}
