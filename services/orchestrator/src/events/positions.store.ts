import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { Epochs } from './epoch.js';

/** The epochs of the database that is read: the primary, or `standby`. */
export type EpochSource = Pick<Epochs, 'sql' | 'noted'>;

/** The workspace's last event. */
export interface WorkspaceHead {
  workspaceId: string;
  ownerId: string;
  lastSeq: number;
}

export interface Heads {
  epoch: string;
  heads: WorkspaceHead[];
}

async function read(db: Database, epochs: EpochSource, where: RawBuilder<unknown>): Promise<Heads> {
  const { rows } = await sql<{ epoch: string; id: string | null; owner_id: string; last_seq: number }>`
    WITH current AS MATERIALIZED (SELECT ${epochs.sql} AS epoch)
    SELECT current.epoch, w.id, w.owner_id, w.last_seq FROM current LEFT JOIN workspaces w ON ${where}`.execute(db);
  return {
    epoch: epochs.noted(rows[0]),
    heads: rows.flatMap(({ id, owner_id: ownerId, last_seq: lastSeq }) =>
      id === null ? [] : [{ workspaceId: id, ownerId, lastSeq }],
    ),
  };
}

/** Deleted workspaces are absent. Does not check the owner. */
export function readHeads(db: Database, epochs: EpochSource, workspaceIds: readonly string[]): Promise<Heads> {
  return read(db, epochs, sql`w.id = ANY(${[...workspaceIds]}::uuid[])`);
}

/** Does not check the owner. */
export function readHeadOfAgent(db: Database, epochs: EpochSource, agentId: string): Promise<Heads> {
  return read(db, epochs, sql`w.id = (SELECT a.workspace_id FROM agents a WHERE a.id = ${agentId})`);
}
