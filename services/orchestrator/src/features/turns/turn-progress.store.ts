import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import { heldLease, type LeasedJob } from '../../jobs/job-store.js';

/** The text of a reply. */
export interface ReplyTexts {
  /** As users see it. */
  text: string;
  /** As the runtime sent it. */
  received: string;
}

/** How far the events of a turn are applied. */
export interface Progress {
  generation: number;
  /** All events up to this number are applied. */
  appliedEvent: number;
  /** The events after this number are requested again: the runtime may wait for the outcome of one. */
  resumeFrom: number;
  /** The last number of a published part of the text. */
  chunkSeq: number;
  /** The step of the last announced model call. */
  announcedStep: number;
}

export interface TurnProgressStore {
  /**
   * Has no effect without the lease.
   *
   * @param texts undefined if they did not change since they were saved in this generation
   */
  save(job: LeasedJob, progress: Progress, texts: ReplyTexts | undefined, db?: Database): Promise<void>;
  find(turnId: string): Promise<(Progress & ReplyTexts) | undefined>;
}

export function createTurnProgressStore(database: Database): TurnProgressStore {
  return {
    async save(job, progress, texts, db = database) {
      const { generation, appliedEvent, resumeFrom, chunkSeq, announcedStep } = progress;
      const received = texts === undefined || texts.received === texts.text ? null : texts.received;
      const changed = texts === undefined ? sql`` : sql`, text = excluded.text, received = excluded.received`;
      await sql`
        WITH ${heldLease(job)}
        INSERT INTO turn_progress (turn_id, generation, applied_event, resume_from, chunk_seq, announced_step, text, received)
        SELECT subject_id, ${generation}, ${appliedEvent}, ${resumeFrom}, ${chunkSeq}, ${announcedStep},
          ${texts?.text ?? ''}, ${received} FROM held
        ON CONFLICT (turn_id) DO UPDATE SET generation = excluded.generation, applied_event = excluded.applied_event,
          resume_from = excluded.resume_from, chunk_seq = excluded.chunk_seq, announced_step = excluded.announced_step
          ${changed}`.execute(db);
    },

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
