import type { SeparateServices } from './separate.js';

/** Rows that a workspace's turns must not leave behind, in any table. */
const LEFT: Record<string, string> = {
  jobs: `SELECT kind FROM work WHERE workspace_id = $1
    AND (kind = 'turn' OR lease_id IS NOT NULL AND subject_id IN (SELECT id FROM turns WHERE workspace_id = $1))`,
  turns: `SELECT id FROM turns WHERE status IN ('queued', 'running') AND workspace_id = $1`,
  lines: `SELECT content FROM messages WHERE workspace_id = $1
    AND (content ->> 'state' = 'running' OR content ->> 'type' = 'loading')`,
  // An error status ends by itself.
  agents: `SELECT activity FROM agents WHERE workspace_id = $1
    AND activity <> 'error' AND (activity <> 'online' OR activity_until IS NOT NULL)`,
  calls: `SELECT c.turn_id FROM tool_calls c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = $1`,
  contexts: `SELECT c.turn_id FROM turn_contexts c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = $1`,
  progress: `SELECT p.turn_id FROM turn_progress p JOIN turns t ON t.id = p.turn_id WHERE t.workspace_id = $1`,
  cards: `SELECT a.turn_id FROM tool_approvals a JOIN turns t ON t.id = a.turn_id
    WHERE a.status = 'open' AND t.workspace_id = $1`,
  delegations: `SELECT d.turn_id FROM delegations d JOIN turns t ON t.id = d.turn_id
    WHERE d.status = 'running' AND t.workspace_id = $1`,
};

/** @returns the rows that a workspace's turns have left behind when no turn runs and none waits. Empty: nothing */
export async function leftBehind(
  { query }: Pick<SeparateServices, 'query'>,
  workspaceId: string,
): Promise<Record<string, unknown[]>> {
  const rows = Object.entries(LEFT).map(async ([name, sql]) => [name, await query(sql, [workspaceId])] as const);
  return Object.fromEntries((await Promise.all(rows)).filter(([, found]) => found.length > 0));
}
