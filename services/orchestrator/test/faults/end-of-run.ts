import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../src/platform/database/database.js';
import { UNKNOWN_OUTCOME } from '../../src/turns/receipts/receipt-log.js';
import type { FaultRun } from './fault-run.js';
import type { RequestedTool } from './schedule.js';
import type { SimulatedCall } from './simulated-agent.js';
import { EFFECTS } from './simulated-tools.js';

export interface CallOutcome extends SimulatedCall<RequestedTool> {
  /** Counts how often the call took effect. */
  executions: number;
  /** Counts how often the call left for the other system. `keys` are the keys that it left with. */
  requests: number;
  keys: string[];
  /** The outcome that the model was told; undefined if the turn ended before. */
  told: string | undefined;
  receipt: { status: string; key: string } | undefined;
  /** True if the other system finds what it executed. */
  finds: boolean;
}

async function read<Row>(query: RawBuilder<Row>, database: Database): Promise<Row[]> {
  return (await query.execute(database)).rows;
}

/** Includes all requests that are in a journal. */
export async function outcomes({ runtime, other, home }: FaultRun, database: Database): Promise<CallOutcome[]> {
  const effects = await read(sql<{ id: string }>`SELECT call_id AS id FROM simulated_effects`, database);
  const receipts = await read(
    sql<{ id: string; status: string; key: string }>`
      SELECT call_id AS id, status, key FROM receipts WHERE workspace_id = ${home.workspaceId}`,
    database,
  );
  return [...runtime.calls.values()].map((call) => {
    const receipt = receipts.find(({ id }) => id === call.id);
    const own = effects.filter(({ id }) => id === call.id).length;
    return {
      ...call,
      executions: EFFECTS[call.tool] === 'own' ? own : (other.executions.get(call.id) ?? 0),
      requests: other.requests.get(call.id) ?? 0,
      keys: [...(other.keys.get(call.id) ?? [])],
      // A note about the approval follows.
      told: runtime.told.get(call.id)?.text.split('\n')[0],
      finds: other.finds,
      receipt: receipt === undefined ? undefined : { status: receipt.status, key: receipt.key },
    };
  });
}

/** Checks rules that must hold for every call, whatever happened. @returns the broken rules */
export function brokenRules({ id, tool, executions, requests, keys, told, receipt, finds }: CallOutcome): string[] {
  const effect = EFFECTS[tool];
  const isUnknown = told === undefined || told === UNKNOWN_OUTCOME;
  const rules: [boolean, string][] = [
    [executions <= 1, 'took effect more than once'],
    [effect !== 'once' || requests <= 1, 'left more than once'],
    [keys.length <= 1, 'left with several keys'],
    [receipt === undefined || keys.every((key) => key === receipt.key), 'left with another key than the stored one'],
    [told !== 'done' || executions === 1, 'did not take effect, and the model was told that it did'],
    [isUnknown || told === 'done' || executions === 0, 'took effect, and the model was told that it did not'],
    [executions === 0 || receipt !== undefined, 'took effect without a receipt'],
    [receipt?.status !== 'succeeded' || executions === 1, 'did not take effect, but its receipt claims it'],
    [receipt?.status !== 'failed' || executions === 0, 'took effect, but its receipt denies it'],
    [!finds || executions === 0 || receipt?.status !== 'unknown', 'took effect, and was not looked up'],
  ];
  return rules.flatMap(([holds, rule]) => (holds ? [] : [`${id} (${tool}) ${rule}`]));
}

/** A workspace's recorded usage. `reserved`: calls whose usage was never reported, with their estimates. */
export interface RecordedUsage {
  calls: number;
  promptTokens: number;
  completionTokens: number;
  reserved: number;
}

export async function usageOf(workspaceId: string, database: Database): Promise<RecordedUsage> {
  const rows = await read(
    sql<RecordedUsage>`
      SELECT count(*)::int AS calls, coalesce(sum(prompt_tokens), 0)::int AS "promptTokens",
        coalesce(sum(completion_tokens), 0)::int AS "completionTokens", (count(*) FILTER (WHERE reserved))::int AS reserved
      FROM usage_entries WHERE workspace_id = ${workspaceId}`,
    database,
  );
  return rows[0]!;
}

/** Usage that a model server has counted and no usage row contains: see invariant 8. */
export const uncounted = ({ runtime: { modelCalls, counted } }: FaultRun, recorded: RecordedUsage) => ({
  calls: Math.max(0, modelCalls - recorded.calls),
  promptTokens: Math.max(0, counted.promptTokens - recorded.promptTokens),
  completionTokens: Math.max(0, counted.completionTokens - recorded.completionTokens),
});

/** Rows that must not exist in a workspace without queued turns and without open cards. */
export async function leftBehind(workspaceId: string, database: Database): Promise<Record<string, unknown[]>> {
  const turns = sql`SELECT id FROM turns WHERE workspace_id = ${workspaceId}`;
  const queries: Record<string, RawBuilder<unknown>> = {
    jobs: sql`SELECT subject_id FROM work WHERE kind = 'turn' AND workspace_id = ${workspaceId}`,
    turns: sql`SELECT id FROM turns WHERE workspace_id = ${workspaceId} AND status IN ('queued', 'running')`,
    replies: sql`SELECT content FROM messages WHERE workspace_id = ${workspaceId}
      AND (content ->> 'type' = 'loading' OR status = 'pending')`,
    toolLines: sql`SELECT content FROM messages WHERE workspace_id = ${workspaceId} AND content ->> 'state' = 'running'`,
    cards: sql`SELECT content FROM messages WHERE workspace_id = ${workspaceId} AND content ->> 'type' = 'action_card'
      AND content ->> 'selected_action_id' IS NULL AND status <> 'failed'`,
    agents: sql`SELECT activity, activity_until FROM agents WHERE workspace_id = ${workspaceId}
      AND (activity NOT IN ('online', 'error') OR (activity = 'online') <> (activity_until IS NULL))`,
    contexts: sql`SELECT turn_id FROM turn_contexts WHERE turn_id IN (${turns})`,
    calls: sql`SELECT turn_id FROM tool_calls WHERE turn_id IN (${turns})`,
    receipts: sql`SELECT call_id FROM receipts WHERE workspace_id = ${workspaceId} AND status = 'sent'`,
  };
  const found = await Promise.all(
    Object.entries(queries).map(async ([name, query]) => [name, await read(query, database)] as const),
  );
  return Object.fromEntries(found.filter(([, rows]) => rows.length > 0));
}
