import type { Database } from '../../platform/database/database.js';
import type { AgentContext } from './agent-context.js';
import type { SwarmMember } from '../../records/agents.store.js';
import type { ModelLimits } from '../../platform/core/models.js';
import type { Summary } from '../summaries/summaries.store.js';
import type { Reader } from '../../records/users.store.js';

/** What a turn is started with, in addition to the messages. Every generation of the turn uses the same. */
export interface TurnContext {
  /** ISO 8601. */
  now: string;
  /** The user who reads the reply. */
  reader: Reader;
  agentContext: AgentContext;
  members: SwarmMember[];
  /** Limits of the agent's model; null if they are unknown. */
  limits: ModelLimits | null;
  /** The summary of the messages before the history; null if there is none. */
  summary: Summary | null;
  /** The last turns of the conversation before this one, oldest first. */
  recentTurns: string[];
  /** The calls to other apps that earlier turns sent, as the model is told; absent in contexts of earlier releases. */
  sentCalls?: string;
}

export interface TurnContextStore {
  find(turnId: string): Promise<TurnContext | undefined>;
}

export const createTurnContextStore = (database: Database): TurnContextStore => ({
  async find(turnId) {
    const row = await database
      .selectFrom('turn_contexts')
      .select('context')
      .where('turn_id', '=', turnId)
      .executeTakeFirst();
    return row?.context as TurnContext | undefined;
  },
});
