import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../../platform/database/database.js';
import type { AgentActivity } from '../../platform/database/schema.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { LimitReached, UsageLimits } from '../../metering/usage-limits.js';
import { isBackground } from '../background-turns.js';
import type { TurnMessagesDeps } from '../content/turn-messages.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnInstance } from '../turns.store.js';
import type { createUserMessageStatus } from './user-message-status.js';
import type * as turnRecords from '../turns.store.js';

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
  turns: Pick<typeof turnRecords, 'startTurn' | 'setReply'>;
  statuses: Pick<AgentStatuses, 'begun' | 'setActivity'>;
  messages: Pick<TurnMessagesDeps['messages'], 'findMessages'>;
  events: TurnMessagesDeps['events'];
  limits: Pick<UsageLimits, 'reserve'>;
}

interface NewReply {
  /** Empty if another message has taken the reply's place. */
  replyId: string;
  seq: number;
  /** True if the new turn must end: its user was banned. */
  stopRequested: boolean;
}

/** Call the functions under the turn's lease. */
export function createTurnBeginning(
  { turns, statuses, messages, events, limits }: TurnBeginningDeps,
  turn: TurnRow,
  setUserMessage: ReturnType<typeof createUserMessageStatus>,
) {
  const workspaceId = turn.workspace_id;

  async function addLoading(tx: Transaction): Promise<{ id: string; seq: number }> {
    const id = randomUUIDv7();
    const context = { workspaceId, conversationId: turn.conversation_id, agentId: turn.agent_id, turnId: turn.id };
    const content = { type: 'loading' } as const;
    return { id, seq: await events.addMessage({ id, ...context, role: 'agent', content, status: 'pending' }, tx) };
  }

  async function insertReply(
    tx: Transaction,
    started: { budget: number | null; activity?: AgentActivity; instance?: TurnInstance | undefined } = {
      budget: null,
    },
  ): Promise<NewReply> {
    const { id, seq } = await addLoading(tx);
    const running = await turns.startTurn(tx, turn.id, { replyId: id, ...started });
    return { replyId: id, seq, stopRequested: running?.stopRequested ?? false };
  }

  return {
    insertReply,

    /** For a running turn that has no reply. */
    async addReply(tx: Transaction): Promise<{ id: string; seq: number }> {
      const reply = await addLoading(tx);
      await turns.setReply(tx, turn.id, reply.id);
      return reply;
    },

    /**
     * Stores the activity and a loading reply unless the turn has one, and marks the user message as delivered.
     *
     * @param instance for a turn without a reply, if it is known
     * @throws TokensReserved
     * @throws TokensUsed
     */
    async begin(activity: AgentActivity, instance: TurnInstance | undefined, tx: Transaction): Promise<NewReply> {
      const allowed = turn.status === 'queued' ? await limits.reserve(workspaceId, tx) : { tokens: null };
      if (allowed === undefined) throw new TokensReserved();
      if ('scope' in allowed) throw new TokensUsed(allowed);
      const started = { budget: allowed.tokens, activity };
      const replyId = turn.reply_message_id;
      if (replyId === null && turn.status === 'queued') {
        await setUserMessage('delivered', tx);
        const reply = await insertReply(tx, { ...started, instance });
        await statuses.begun(turn, tx);
        return reply;
      }
      const [reply] = replyId === null ? [] : await messages.findMessages(tx, [replyId]);
      if (replyId !== null && isBackground(turn) && turn.status === 'queued')
        await turns.startTurn(tx, turn.id, { replyId, ...started });
      await statuses.setActivity(turn, activity, tx);
      return { replyId: replyId ?? '', seq: reply?.seq ?? 0, stopRequested: false };
    },
  };
}
