import type { Database } from '../../platform/database/database.js';
import type { AgentContext } from './agent-context.js';
import type { SwarmMember } from '../../records/agents.store.js';
import type { ModelLimits } from '../../platform/core/models.js';
import type { Summary } from '../summaries/summaries.store.js';
import type { Reader } from '../../records/users.store.js';

/** Stored once: every generation starts with the same context. */
export interface TurnContext {
  /** ISO 8601. */
  now: string;
  /** Reads the reply. */
  reader: Reader;
  agentContext: AgentContext;
  members: SwarmMember[];
  /** Null if unknown. */
  limits: ModelLimits | null;
  /** Summarizes the messages before the history; null if there is none. */
  summary: Summary | null;
  /** Before this one, oldest first. */
  recentTurns: string[];
  /** Absent in contexts from earlier releases. */
  sentCalls?: string;
}

export async function findTurnContext(db: Database, turnId: string): Promise<TurnContext | undefined> {
  const row = await db.selectFrom('turn_contexts').select('context').where('turn_id', '=', turnId).executeTakeFirst();
  return row?.context as TurnContext | undefined;
}
