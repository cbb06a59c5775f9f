import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { Epochs } from './epoch.js';

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

/** Each statement reads the epoch together with the sequences, from the same server. */
export interface PositionStore {
  /** Deleted workspaces are absent. Does not check the owner. */
  heads(workspaceIds: readonly string[], db?: Database): Promise<Heads>;
  /** Does not check the owner. */
  headOfAgent(agentId: string, db?: Database): Promise<Heads>;
}

export function createPositionStore(database: Database, epochs: Epochs): PositionStore {
  async function read(where: RawBuilder<unknown>, db: Database = database): Promise<Heads> {
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

  return {
    heads: (workspaceIds, db) => read(sql`w.id = ANY(${[...workspaceIds]}::uuid[])`, db),
    headOfAgent: (agentId, db) => read(sql`w.id = (SELECT a.workspace_id FROM agents a WHERE a.id = ${agentId})`, db),
  };
}
