import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../database/database.js';

export interface AuditRecord {
  /** Who did it, as the operator's credential says. */
  actor: string;
  action: string;
  /** The user whom it was about; goes when the account goes. */
  userId?: string;
  /** What it was done to, where that is something else. */
  subjectId?: string;
  details?: Record<string, unknown>;
}

export interface AuditRow {
  id: string;
  at: Date;
  actor: string;
  action: string;
  user_id: string | null;
  subject_id: string | null;
  details: Record<string, unknown>;
}

export interface AuditStore {
  /** Call it in the transaction that does it. */
  append(record: AuditRecord, db?: Database): Promise<void>;
  /** The newest first. */
  list(limit: number, userId?: string): Promise<AuditRow[]>;
}

export function createAuditStore(database: Database): AuditStore {
  return {
    async append({ actor, action, userId, subjectId, details = {} }, db = database) {
      await db
        .insertInto('audit_log')
        .values({
          id: randomUUIDv7(),
          actor,
          action,
          user_id: userId ?? null,
          subject_id: subjectId ?? null,
          details: JSON.stringify(details),
        })
        .execute();
    },

    list(limit, userId) {
      const all = database
        .selectFrom('audit_log')
        .select(['id', 'at', 'actor', 'action', 'user_id', 'subject_id', 'details'])
        .orderBy('id', 'desc')
        .limit(limit);
      return (userId === undefined ? all : all.where('user_id', '=', userId)).execute();
    },
  };
}
