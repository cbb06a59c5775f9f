import type { AgentModel, AgentPrompt, AgentRole, ResponseLength, UpdateAgentSettingsBody } from '@uswarm/contract';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentsTable } from '../platform/database/tables.js';

/** All statements that write `agents`. */

export interface NewAgent {
  id: string;
  slug: string;
  name: string;
  role: string;
  kind: AgentRole;
  description: string;
  skills: string[];
  sortOrder: number;
  avatarUrl?: string | undefined;
  model?: AgentModel | undefined;
  responseLength?: ResponseLength | undefined;
  prompts?: readonly AgentPrompt[] | undefined;
}

export async function insertAgents(db: Database, workspaceId: string, agents: readonly NewAgent[]): Promise<void> {
  await db
    .insertInto('agents')
    .values(
      agents.map(({ id, slug, name, role, kind, description, skills, sortOrder, ...own }) => ({
        id,
        workspace_id: workspaceId,
        slug,
        name,
        role,
        kind,
        description,
        avatar_url: own.avatarUrl ?? '',
        skills,
        sort_order: sortOrder,
        model: own.model ?? null,
        ...(own.responseLength === undefined ? {} : { response_length: own.responseLength }),
        ...(own.prompts === undefined ? {} : { prompts: JSON.stringify(own.prompts) }),
      })),
    )
    .execute();
}

/** Of an imported workspace. */
export async function restoreAgents(db: Database, rows: readonly Insertable<AgentsTable>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('agents').values(rows).execute();
}

/** The columns that a user can change besides the settings. */
export interface AgentDescription {
  name: string;
  role: string;
  description: string;
  avatar_url: string;
  skills: string[];
}

/** @returns false if the agent is deleted */
export async function describeAgent(db: Database, id: string, change: Partial<AgentDescription>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('agents')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Its messages and usage keep its name. @returns false if it is deleted already */
export async function markAgentDeleted(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('agents')
    .set({ deleted_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export interface AgentSettingsChange extends UpdateAgentSettingsBody {
  /** If the user has saved the prompts. */
  untrusted?: false | undefined;
}

/**
 * Changes the settings that are present.
 *
 * @param condition on the agent `a`
 * @returns false if no agent matches
 */
export async function updateAgentSettings(
  db: Database,
  condition: RawBuilder<unknown>,
  { model, response_length, prompts, untrusted }: AgentSettingsChange,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('agents as a')
    .set({
      ...(model === undefined ? {} : { model }),
      ...(response_length === undefined ? {} : { response_length }),
      ...(prompts === undefined ? {} : { prompts: JSON.stringify(prompts) }),
      ...(untrusted === undefined ? {} : { untrusted }),
      updated_at: sql<Date>`now()`,
    })
    .where(sql<boolean>`${condition}`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Sets the activities in the CTE `derived`, and returns the changed agents. */
export const setDerivedActivities = sql`
  UPDATE agents a SET activity = d.activity, activity_until = d.until,
    updated_at = CASE WHEN a.activity = d.activity THEN a.updated_at ELSE now() END
  FROM derived d
  WHERE a.id = d.id AND (a.activity, a.activity_until) IS DISTINCT FROM (d.activity, d.until)
  RETURNING d.id, d.workspace_id, d.activity, d.until AS activity_until`;

/** Of the agent in the CTE `turn`. */
export const setAgentWriting = sql`
  UPDATE agents a SET activity = 'writing',
    activity_until = CASE WHEN a.activity = 'writing' THEN greatest(a.activity_until, t.activity_until) ELSE t.activity_until END,
    updated_at = CASE WHEN a.activity = 'writing' THEN a.updated_at ELSE now() END
  FROM turn t WHERE a.id = t.agent_id
  RETURNING a.id, a.workspace_id, a.activity, a.activity_until`;
