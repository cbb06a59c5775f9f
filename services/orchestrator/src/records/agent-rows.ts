import type { UpdateAgentSettingsBody } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentTemplate } from '../platform/core/catalog.js';

/** All statements that write `agents`. */

export interface NewAgent extends AgentTemplate {
  id: string;
  sortOrder: number;
}

export async function insertAgents(db: Database, workspaceId: string, agents: readonly NewAgent[]): Promise<void> {
  await db
    .insertInto('agents')
    .values(
      agents.map(({ id, slug, name, role, kind, description, skills, sortOrder }) => ({
        id,
        workspace_id: workspaceId,
        slug,
        name,
        role,
        kind,
        description,
        avatar_url: '',
        skills,
        sort_order: sortOrder,
      })),
    )
    .execute();
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
  { model, response_length, prompts }: UpdateAgentSettingsBody,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('agents as a')
    .set({
      ...(model === undefined ? {} : { model }),
      ...(response_length === undefined ? {} : { response_length }),
      ...(prompts === undefined ? {} : { prompts: JSON.stringify(prompts) }),
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
