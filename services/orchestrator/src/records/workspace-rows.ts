import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { WorkspacesTable } from '../platform/database/tables.js';

/** All statements that write `workspaces`. */

/**
 * Takes the next `count` seqs, and locks the workspace until the transaction ends. Returns the last one as `last_seq`.
 *
 * @param rev the new `rev`, if it is not the last seq
 * @param condition continues the WHERE clause
 */
export const takeSeqs = (
  workspaceId: string,
  count: number,
  { rev, condition = sql`` }: { rev?: RawBuilder<unknown>; condition?: RawBuilder<unknown> } = {},
): RawBuilder<unknown> => sql`
  UPDATE workspaces SET last_seq = last_seq + ${sql.lit(count)}, rev = ${rev ?? sql`last_seq + ${sql.lit(count)}`}
  WHERE id = ${workspaceId} ${condition} RETURNING last_seq`;

/** As `takeSeqs`, one for each row in `rows`, for several workspaces. The caller has locked them. Also returns `seq_before`. */
export const takeSeqsOfRows = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  UPDATE workspaces w SET last_seq = w.last_seq + added.count, rev = w.last_seq + added.count
  FROM (SELECT workspace_id, count(*) AS count FROM ${rows} GROUP BY workspace_id) added
  WHERE w.id = added.workspace_id
  RETURNING w.id, w.last_seq, w.last_seq - added.count AS seq_before`;

export async function insertWorkspace(
  db: Database,
  { id, ownerId, name }: { id: string; ownerId: string; name: string },
): Promise<void> {
  await db.insertInto('workspaces').values({ id, owner_id: ownerId, name }).execute();
}

/** For imports, which keep the times from the file. */
export async function restoreWorkspace(
  db: Database,
  workspace: Pick<
    Insertable<WorkspacesTable>,
    'id' | 'owner_id' | 'name' | 'monthly_cost_micros' | 'monthly_tokens' | 'created_at' | 'updated_at'
  >,
): Promise<void> {
  await db.insertInto('workspaces').values(workspace).execute();
}

/** Continues after the restored messages. */
export async function restoreSeq(db: Database, id: string, seq: number): Promise<void> {
  await db.updateTable('workspaces').set({ last_seq: seq, rev: seq, agents_rev: seq }).where('id', '=', id).execute();
}

export async function renameWorkspace(db: Database, id: string, name: string): Promise<void> {
  await db
    .updateTable('workspaces')
    .set({ name, updated_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', id)
    .execute();
}

/** Tells clients to load the list of agents again. Call it after the event, in the same transaction. */
export async function reviseAgents(db: Database, id: string): Promise<void> {
  await db
    .updateTable('workspaces')
    .set(({ ref }) => ({ agents_rev: ref('last_seq') }))
    .where('id', '=', id)
    .execute();
}

/** Also deletes all rows that reference the workspace. */
export async function deleteWorkspace(db: Database, id: string): Promise<void> {
  await db.deleteFrom('workspaces').where('id', '=', id).execute();
}

/** Has no effect if the user does not own the workspace. */
export async function setBudget(
  db: Database,
  { id, ownerId }: { id: string; ownerId: string },
  limits: { monthly_cost_micros?: number | null; monthly_tokens?: number | null },
): Promise<void> {
  await db.updateTable('workspaces').set(limits).where('id', '=', id).where('owner_id', '=', ownerId).execute();
}

/**
 * Remembers that the owner was warned in a period.
 *
 * @param warned the tables and the condition that decide it; `w` is the workspace
 */
export const markBudgetWarned = (
  id: string,
  period: string,
  warned: { from: RawBuilder<unknown>; condition: RawBuilder<unknown> },
): RawBuilder<unknown> => sql`
  UPDATE workspaces w SET budget_warned_period = ${period} FROM ${warned.from}
  WHERE w.id = ${id} AND w.budget_warned_period IS DISTINCT FROM ${period} AND ${warned.condition}`;
