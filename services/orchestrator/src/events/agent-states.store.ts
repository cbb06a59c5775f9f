import type { AgentState } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentActivity, InternalPhase } from '../platform/database/schema.js';
import { currentActivity, expiresInMs } from '../records/agent-status.store.js';
import { agentStatus } from '../records/runtime-view.js';

export type WorkspaceAgent = AgentState & { workspace_id: string };

/** Reads only agents whose status is not `online`. One statement. */
export type ReadAgentStates = (workspaceIds: readonly string[], now: Date) => Promise<WorkspaceAgent[]>;

interface Row {
  id: string;
  workspace_id: string;
  activity: AgentActivity;
  expires_in_ms: number | null;
  conversation_id: string | null;
  phase: InternalPhase | null;
  silent_since: Date | null;
}

/** The conversation belongs to the last turn that the agent has begun and not ended. */
export function createReadAgentStates(database: Database): ReadAgentStates {
  return async (workspaceIds, now) => {
    const { rows } = await sql<Row>`
      SELECT a.id, a.workspace_id, ${currentActivity('a')} AS activity, ${expiresInMs('a')} AS expires_in_ms,
        CASE WHEN a.activity_until > now() THEN (
          SELECT t.conversation_id FROM turns t WHERE t.agent_id = a.id AND t.status = 'running'
          ORDER BY t.activity_until DESC NULLS LAST, t.id DESC LIMIT 1
        ) END AS conversation_id,
        r.phase, r.silent_since
      FROM agents a LEFT JOIN runtimes r ON r.workspace_id = a.workspace_id
      WHERE a.workspace_id = ANY(${[...workspaceIds]}::uuid[]) AND a.deleted_at IS NULL
      ORDER BY a.workspace_id, a.sort_order`.execute(database);
    return rows.map((row) => stateOf(row, now)).filter(({ status }) => status !== 'online');
  };
}

function stateOf(row: Row, now: Date): WorkspaceAgent {
  const { activity, expires_in_ms: untilMs, conversation_id: conversationId } = row;
  const status = agentStatus(activity, { phase: row.phase ?? 'Pending', silentSince: row.silent_since }, now);
  return {
    workspace_id: row.workspace_id,
    agent_id: row.id,
    status,
    ...(conversationId === null ? {} : { conversation_id: conversationId }),
    // A status that follows from the runtime ends with an event about the runtime.
    until_ms: status === activity ? untilMs : null,
  };
}
