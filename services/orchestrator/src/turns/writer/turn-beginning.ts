import type { MessageStatus } from '@uswarm/contract';
import { randomUUIDv7 } from 'node:crypto';
import type { LimitReached, UsageLimits } from '../../metering/usage-limits.js';
import type { Transaction } from '../../platform/database/database.js';
import type { AgentActivity } from '../../platform/database/schema.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { EventLog } from '../../records/event-log.js';
import type { MessageChange } from '../../records/message-rows.js';
import type { NewMemory } from '../../records/memories.store.js';
import { isBackground } from '../background-turns.js';
import type { TurnMessagesDeps } from '../content/turn-messages.js';
import { recordTexts, storedMemory } from '../tools/record-texts.js';
import type * as untrustedContentRecords from '../tools/untrusted-content.store.js';
import type * as turnRecords from '../turns.store.js';
import type { TurnInstance, TurnRow } from '../turns.store.js';
import type { TurnStart } from './turn-writes.js';

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

export interface NewReply {
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

/** Memories can contain text from others. */
const memoriesOf = ({ instance }: TurnStart): NewMemory[] => instance.context?.agentContext.memories ?? [];

export const readsUntrusted = (start: TurnStart): boolean => start.untrusted.length > 0 || memoriesOf(start).length > 0;

export async function recordUntrusted(
  untrusted: Pick<typeof untrustedContentRecords, 'addUntrustedSources' | 'recordReadTexts' | 'recordWrittenTexts'>,
  turn: TurnRow,
  start: TurnStart,
  tx: Transaction,
): Promise<void> {
  if (!readsUntrusted(start)) return;
  await untrusted.addUntrustedSources(tx, turn, start.untrusted);
  await recordTexts(untrusted, turn, { read: memoriesOf(start).map(storedMemory) }, tx);
}

/** Statuses that each new status can replace. */
export const REPLACED: Record<'delivered' | 'read' | 'failed', readonly MessageStatus[]> = {
  delivered: ['sent', 'failed'],
  read: ['sent', 'delivered', 'failed'],
  failed: ['sent', 'delivered', 'read'],
};

/**
 * Updates the user message's status, unless another agent's turn already did. An app message that tells a workflow's
 * end does not fail with its answer.
 */
export const createUserMessageStatus =
  (events: Pick<EventLog, 'changeMessage'>, turn: Pick<TurnRow, 'workspace_id' | 'user_message_id'>) =>
  async (
    status: 'delivered' | 'read' | 'failed',
    tx: Transaction,
    more: Pick<MessageChange, 'errorCode' | 'answeredWith'> = {},
  ): Promise<void> => {
    const { workspace_id: workspaceId, user_message_id: id } = turn;
    const change = { status, errorCode: null, ...more };
    await events.changeMessage({ workspaceId, id, change, from: REPLACED[status], types: ['message.updated'] }, tx);
  };
