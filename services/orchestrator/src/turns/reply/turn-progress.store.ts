import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { createGroups } from '../../platform/database/groups.js';
import { heldLease, type LeasedJob } from '../../platform/jobs/job-queue.js';
import { PROGRESS_COLUMNS, saveProgress } from '../../records/turn-part-rows.js';

export interface ReplyTexts {
  /** As users see it. */
  text: string;
  /** As the runtime sent it. */
  received: string;
}

export interface Progress {
  generation: number;
  /** All events up to this number are applied. */
  appliedEvent: number;
  /** The events after this number are requested again: the runtime may wait for one's outcome. */
  resumeFrom: number;
  /** Last published text part. */
  chunkSeq: number;
  /** Last announced model call. */
  announcedStep: number;
}

interface TextSave {
  job: LeasedJob;
  progress: Progress;
  texts: ReplyTexts;
}

export interface SavedText {
  /** True if the turn must end: see `isStopRequested`. */
  stopRequested: boolean;
}

export interface TurnProgress {
  /**
   * Has no effect without the lease.
   *
   * @param texts undefined if they did not change since they were saved in this generation
   */
  save(job: LeasedJob, progress: Progress, texts: ReplyTexts | undefined, db: Database): Promise<void>;
  /**
   * Like `save`, in one statement with other turns that save at the same time.
   *
   * @returns undefined if the lease is lost, or if another transaction has locked the job
   */
  saveText(job: LeasedJob, progress: Progress, texts: ReplyTexts): Promise<SavedText | undefined>;
  find(turnId: string): Promise<(Progress & ReplyTexts) | undefined>;
}

/** A text has at most some 100 KiB, and a group that waits for Postgres does not block the groups behind it. */
const TEXT_GROUPS = { maxItems: 64, maxGroups: 2, patienceMs: 1_000 };

/** Null if the received text equals the shown text. */
const receivedColumn = ({ text, received }: ReplyTexts): string | null => (received === text ? null : received);

/** Skips locked jobs: their next text is saved soon, and must not delay the others. */
async function saveTexts(database: Database, saves: readonly TextSave[]): Promise<(SavedText | undefined)[]> {
  const column = (value: (save: TextSave) => number | string | null) => saves.map(value);
  const { rows } = await sql<SavedText & { turnId: string }>`
    WITH saves AS (
      SELECT * FROM unnest(
        ${column(({ job }) => job.kind)}::text[],
        ${column(({ job }) => job.subjectId)}::uuid[],
        ${column(({ job }) => job.leaseId)}::uuid[],
        ${column(({ progress }) => progress.generation)}::int[],
        ${column(({ progress }) => progress.appliedEvent)}::int[],
        ${column(({ progress }) => progress.resumeFrom)}::int[],
        ${column(({ progress }) => progress.chunkSeq)}::int[],
        ${column(({ progress }) => progress.announcedStep)}::int[],
        ${column(({ texts }) => texts.text)}::text[],
        ${column(({ texts }) => receivedColumn(texts))}::text[]
      ) AS saves (kind, turn_id, lease_id, ${PROGRESS_COLUMNS})
    ), held AS MATERIALIZED (
      SELECT s.* FROM work w
      JOIN saves s ON w.kind = s.kind AND w.subject_id = s.turn_id AND w.lease_id = s.lease_id
      FOR UPDATE OF w SKIP LOCKED
    ), saved AS (
      ${saveProgress(sql`SELECT turn_id, ${PROGRESS_COLUMNS} FROM held`, true)}
      RETURNING turn_id
    )
    SELECT t.id AS "turnId", t.stop_requested OR u.is_banned AS "stopRequested"
    FROM saved JOIN turns t ON t.id = saved.turn_id
    JOIN workspaces w ON w.id = t.workspace_id JOIN users u ON u.id = w.owner_id`.execute(database);
  const saved = new Map(rows.map(({ turnId, stopRequested }) => [turnId, { stopRequested }]));
  return saves.map(({ job }) => saved.get(job.subjectId));
}

export function createTurnProgress(database: Database): TurnProgress {
  const saveInGroup = createGroups<TextSave, SavedText | undefined>({
    ...TEXT_GROUPS,
    run: (saves) => saveTexts(database, saves),
  });

  return {
    async save(job, progress, texts, db) {
      const { generation, appliedEvent, resumeFrom, chunkSeq, announcedStep } = progress;
      await sql`
        WITH ${heldLease(job)}
        ${saveProgress(
          sql`
            SELECT subject_id, ${generation}, ${appliedEvent}, ${resumeFrom}, ${chunkSeq}, ${announcedStep},
              ${texts?.text ?? ''}, ${texts === undefined ? null : receivedColumn(texts)} FROM held`,
          texts !== undefined,
        )}`.execute(db);
    },

    saveText: (job, progress, texts) => saveInGroup({ job, progress, texts }),

    async find(turnId) {
      const { rows } = await sql<Progress & { text: string; received: string | null }>`
        SELECT generation, applied_event AS "appliedEvent", resume_from AS "resumeFrom", chunk_seq AS "chunkSeq",
          announced_step AS "announcedStep", text, received
        FROM turn_progress WHERE turn_id = ${turnId}`.execute(database);
      const [row] = rows;
      return row === undefined ? undefined : { ...row, received: row.received ?? row.text };
    },
  };
}
