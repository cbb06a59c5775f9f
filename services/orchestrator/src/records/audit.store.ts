import { randomUUIDv7 } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

export const AUDIT_PRUNING_JOB = 'audit-pruning';

export interface AuditRecord {
  /** The operator named by the credential; `user` if users act on their own account. */
  actor: string;
  action: string;
  /** Cleared when the account is deleted. */
  userId?: string;
  /** Set if the affected object is not the user. */
  subjectId?: string;
  details?: Record<string, unknown>;
  /** Identifies users who acted on their own account, even after the account is deleted. */
  identityHash?: Buffer;
}

export interface AuditRow {
  id: string;
  at: Date;
  actor: string;
  action: string;
  user_id: string | null;
  subject_id: string | null;
  details: Record<string, unknown>;
  identity_hash: Buffer | null;
}

/** Call it in the recorded action's transaction. */
export async function appendAudit(
  db: Database,
  { actor, action, userId, subjectId, details = {}, identityHash }: AuditRecord,
): Promise<void> {
  await db
    .insertInto('audit_log')
    .values({
      id: randomUUIDv7(),
      actor,
      action,
      user_id: userId ?? null,
      subject_id: subjectId ?? null,
      details: JSON.stringify(details),
      identity_hash: identityHash ?? null,
    })
    .execute();
}

/** Deletes up to `limit` sign-in and logout records older than `before` and 30 days. @returns how many */
export async function pruneAuditSessions(db: Database, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    SELECT prune_sessions_in_audit(${before}, ${limit}) AS removed`.execute(db);
  return rows[0]?.removed ?? 0;
}

/** Newest first. */
export function listAudit(db: Database, limit: number, userId?: string): Promise<AuditRow[]> {
  const all = db
    .selectFrom('audit_log')
    .select(['id', 'at', 'actor', 'action', 'user_id', 'subject_id', 'details', 'identity_hash'])
    .orderBy('id', 'desc')
    .limit(limit);
  return (userId === undefined ? all : all.where('user_id', '=', userId)).execute();
}
