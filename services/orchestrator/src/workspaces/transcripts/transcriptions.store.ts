import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { TranscriptionProblem } from '../../platform/database/schema.js';

export type { TranscriptionProblem };

/** Another turn can ask again after these. */
const PASSING: readonly TranscriptionProblem[] = ['limit', 'unavailable'];
/** The same turn can after this time. */
const ASKED_AGAIN_MS = 5 * 60_000;

export interface KnownTranscript {
  /** Null before the recording is transcribed. */
  text: string | null;
  problem: TranscriptionProblem | null;
  /** True while a job is working on it. */
  waits: boolean;
}

/** A recording that is about to be sent. */
export interface TranscriptionAttempt {
  uploadId: string;
  mimeType: string;
  size: number;
  seconds: number | null;
  /** Counts from 1. */
  attempt: number;
  turnId: string;
  agentId: string;
  workspaceId: string;
}

/** @returns true if the recording needs a job now; false if it has one, has its transcript, or cannot have one */
export async function requestTranscription(db: Database, uploadId: string, turnId: string): Promise<boolean> {
  const { rows } = await sql`
    INSERT INTO transcriptions (upload_id, turn_id)
    SELECT u.id, t.id FROM uploads u, turns t
    WHERE u.id = ${uploadId} AND u.state = 'stored' AND u.user_id IS NOT NULL AND u.transcript IS NULL AND t.id = ${turnId}
    ON CONFLICT (upload_id) DO UPDATE SET turn_id = excluded.turn_id, attempts = 0, problem = NULL, updated_at = now()
      WHERE transcriptions.problem = ANY (${[...PASSING]}::text[]) AND (transcriptions.turn_id <> excluded.turn_id
        OR transcriptions.updated_at < now() - ${ASKED_AGAIN_MS} * interval '1 millisecond')
    RETURNING upload_id`.execute(db);
  return rows.length > 0;
}

/** @returns undefined if the file no longer exists */
export async function findTranscript(db: Database, uploadId: string): Promise<KnownTranscript | undefined> {
  const { rows } = await sql<KnownTranscript>`
    SELECT u.transcript AS text, t.problem, t.upload_id IS NOT NULL AND t.problem IS NULL AS waits
    FROM uploads u LEFT JOIN transcriptions t ON t.upload_id = u.id
    WHERE u.id = ${uploadId} AND u.state = 'stored'`.execute(db);
  return rows[0];
}

/** @returns undefined if there is nothing to transcribe */
export async function beginTranscription(db: Database, uploadId: string): Promise<TranscriptionAttempt | undefined> {
  const { rows } = await sql<TranscriptionAttempt>`
    UPDATE transcriptions t SET attempts = t.attempts + 1, updated_at = now()
    FROM uploads u, turns asking
    WHERE t.upload_id = ${uploadId} AND u.id = t.upload_id AND asking.id = t.turn_id AND t.problem IS NULL
      AND u.state = 'stored' AND u.user_id IS NOT NULL AND u.transcript IS NULL
    RETURNING u.id AS "uploadId", u.mime_type AS "mimeType", u.size, u.duration AS seconds, t.attempts AS attempt,
      asking.id AS "turnId", asking.agent_id AS "agentId", asking.workspace_id AS "workspaceId"`.execute(db);
  return rows[0];
}

export async function saveTranscriptionProblem(
  db: Database,
  uploadId: string,
  problem: TranscriptionProblem,
): Promise<void> {
  await db
    .updateTable('transcriptions')
    .set({ problem, updated_at: sql<Date>`now()` })
    .where('upload_id', '=', uploadId)
    .execute();
}

export async function endTranscription(db: Database, uploadId: string): Promise<void> {
  await db.deleteFrom('transcriptions').where('upload_id', '=', uploadId).execute();
}
