import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../../../database/database.js';
import type { AgentActivity } from '../../../database/schema.js';
import type { AgentStatuses } from '../../agents/agent-statuses.js';
import type { LimitReached, UsageLimits } from '../../usage/usage-limits.js';
import { isBackground } from '../background-turns.js';
import type { TurnMessagesDeps } from './turn-messages.js';
import type { TurnInstance, TurnRow, TurnStore } from '../turns.store.js';
import type { createUserMessageStatus } from './user-message-status.js';

/** Running turns have reserved the remaining tokens, so this turn must wait. */
export class TokensReserved extends Error {
  override name = 'TokensReserved';
}

/** The token limit is reached, so this turn must not begin. */
export class TokensUsed extends Error {
  override name = 'TokensUsed';
  readonly limit: LimitReached;

  constructor(limit: LimitReached) {
    super();
    this.limit = limit;
  }
}

export interface TurnBeginningDeps {
  turns: Pick<TurnStore, 'start'>;
  statuses: Pick<AgentStatuses, 'begun' | 'setActivity'>;
  messages: Pick<TurnMessagesDeps['messages'], 'find'>;
  events: TurnMessagesDeps['events'];
  limits: Pick<UsageLimits, 'reserve'>;
}

interface NewReply {
  replyId: string;
  seq: number;
  /** Whether the new turn must end: its user was banned. */
  stopRequested: boolean;
}

/** Begins a turn. Call the functions under its lease. */
export function createTurnBeginning(
  { turns, statuses, messages, events, limits }: TurnBeginningDeps,
  turn: TurnRow,
  setUserMessage: ReturnType<typeof createUserMessageStatus>,
) {
  const workspaceId = turn.workspace_id;

  async function insertReply(
    tx: Transaction,
    started: { budget: number | null; activity?: AgentActivity; instance?: TurnInstance | undefined } = {
      budget: null,
    },
  ): Promise<NewReply> {
    const id = randomUUIDv7();
    const context = { workspaceId, conversationId: turn.conversation_id, agentId: turn.agent_id };
    const content = { type: 'loading' } as const;
    const seq = await events.addMessage({ id, ...context, role: 'agent', content, status: 'pending' }, tx);
    const running = await turns.start(turn.id, { replyId: id, ...started }, tx);
    return { replyId: id, seq, stopRequested: running?.stopRequested ?? false };
  }

  return {
    /** Stores a loading reply. */
    insertReply,

    /**
     * Stores the activity and a loading reply unless the turn has one, and marks the user message as delivered.
     *
     * @param instance of a turn without a reply, if it is known
     * @throws TokensReserved
     * @throws TokensUsed
     */
    async begin(activity: AgentActivity, instance: TurnInstance | undefined, tx: Transaction): Promise<NewReply> {
      const allowed = turn.status === 'queued' ? await limits.reserve(workspaceId, tx) : { tokens: null };
      if (allowed === undefined) throw new TokensReserved();
      if ('scope' in allowed) throw new TokensUsed(allowed);
      const started = { budget: allowed.tokens, activity };
      const replyId = turn.reply_message_id;
      if (replyId === null) {
        await setUserMessage('delivered', tx);
        const reply = await insertReply(tx, { ...started, instance });
        await statuses.begun(turn, tx);
        return reply;
      }
      const [reply] = await messages.find([replyId], tx);
      if (isBackground(turn) && turn.status === 'queued') await turns.start(turn.id, { replyId, ...started }, tx);
      await statuses.setActivity(turn, activity, tx);
      return { replyId, seq: reply?.seq ?? 0, stopRequested: false };
    },
  };
}
