import { randomUUIDv7 } from 'node:crypto';
import type { DurableEventName, MessageContent, MessageStatus } from '@uswarm/contract';
import type { Database } from '../../database/database.js';
import type { TurnStatus } from '../../database/schema.js';
import type { LeasedWork, WorkStore } from '../../work/work.store.js';
import type { EventStore } from '../events/events.store.js';
import type { MessageStore } from '../messages/messages.store.js';
import type { TurnRow, TurnStore, UsageEntry } from './turns.store.js';

/** Another replica has the turn now; whatever this one still does must not be written. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

export interface TurnWriterDeps {
  transaction: <T>(run: (tx: Database) => Promise<T>) => Promise<T>;
  work: Pick<WorkStore, 'holds' | 'complete'>;
  turns: Pick<TurnStore, 'start' | 'setInstance' | 'nextGeneration' | 'finish' | 'runningTools' | 'recordUsage'>;
  messages: Pick<MessageStore, 'insert' | 'update' | 'findOfTurn' | 'find'>;
  events: Pick<EventStore, 'append'>;
  committed: () => void;
}

export interface ToolMessage {
  callId: string;
  content: Extract<MessageContent, { type: 'tool_status' }>;
}

export interface FinishedReply {
  turnStatus: Exclude<TurnStatus, 'queued' | 'running'>;
  messageStatus: MessageStatus;
  text: string;
  errorCode: string | null;
}

/** Everything a turn stores. Each call is one transaction that commits only while the lease is held. */
export interface TurnWriter {
  /** Marks the user's message as delivered and stores the reply as loading. @returns its id and seq */
  begin(): Promise<{ replyId: string; seq: number }>;
  markRead(): Promise<void>;
  setInstance(instanceId: string): Promise<void>;
  /** Begins anew after the runtime lost the turn. @returns undefined where that was done before. */
  nextGeneration(limit: number): Promise<number | undefined>;
  /** @returns the seq of the event that shows it. */
  tool(generation: number, tool: ToolMessage): Promise<number>;
  usage(entry: UsageEntry): Promise<void>;
  /** Ends the turn and its work. @returns the seq of `message.done` */
  finish(reply: FinishedReply): Promise<number>;
  /** Ends a turn that never began to be answered. */
  abandon(errorCode: string): Promise<void>;
}

export function createTurnWriter(deps: TurnWriterDeps, turn: TurnRow, work: LeasedWork): TurnWriter {
  const { transaction, turns, messages, events, committed } = deps;
  const workspaceId = turn.workspace_id;

  async function fenced<T>(run: (tx: Database) => Promise<T>): Promise<T> {
    const result = await transaction(async (tx) => {
      if (!(await deps.work.holds(work, tx))) throw new LeaseLost();
      return run(tx);
    });
    committed();
    return result;
  }

  const append = (type: DurableEventName, subjectId: string, tx: Database): Promise<number> =>
    events.append({ workspaceId, type, subjectId }, tx);

  async function setUserMessage(status: MessageStatus, tx: Database): Promise<void> {
    await messages.update(turn.user_message_id, { status }, tx);
    await append('message.updated', turn.user_message_id, tx);
  }

  async function replyId(): Promise<string> {
    if (turn.reply_message_id === null) throw new Error('the turn has no reply yet');
    return turn.reply_message_id;
  }

  return {
    begin: () =>
      fenced(async (tx) => {
        if (turn.reply_message_id !== null) {
          const [reply] = await messages.find([turn.reply_message_id], tx);
          return { replyId: turn.reply_message_id, seq: reply?.seq ?? 0 };
        }
        const id = randomUUIDv7();
        await setUserMessage('delivered', tx);
        const seq = await append('message.new', id, tx);
        const place = { workspaceId, conversationId: turn.conversation_id, agentId: turn.agent_id };
        await messages.insert({ id, ...place, seq, role: 'agent', content: { type: 'loading' }, status: 'pending' }, tx);
        await turns.start(turn.id, id, tx);
        turn.reply_message_id = id;
        return { replyId: id, seq };
      }),

    markRead: () => fenced((tx) => setUserMessage('read', tx)),

    setInstance: (instanceId) => fenced((tx) => turns.setInstance(turn.id, instanceId, tx)),

    nextGeneration: (limit) =>
      fenced(async (tx) => {
        const generation = await turns.nextGeneration(turn.id, limit, tx);
        for (const { id, content } of await turns.runningTools(turn.id, tx)) {
          if (content.type !== 'tool_status') continue;
          await messages.update(id, { content: { ...content, state: 'failed' } }, tx);
          await append('message.updated', id, tx);
        }
        return generation;
      }),

    tool: (generation, { callId, content }) =>
      fenced(async (tx) => {
        const key = `tool:${generation}:${callId}`;
        const known = await messages.findOfTurn(turn.id, key, tx);
        if (known !== undefined) {
          await messages.update(known, { content }, tx);
          return append('message.updated', known, tx);
        }
        const id = randomUUIDv7();
        const seq = await append('message.new', id, tx);
        const place = { workspaceId, conversationId: turn.conversation_id, agentId: turn.agent_id };
        await messages.insert(
          { id, ...place, seq, role: 'agent', content, status: 'delivered', turn: { id: turn.id, key } },
          tx,
        );
        return seq;
      }),

    usage: (entry) => fenced((tx) => turns.recordUsage(entry, tx)),

    finish: ({ turnStatus, messageStatus, text, errorCode }) =>
      fenced(async (tx) => {
        const id = await replyId();
        await messages.update(id, { content: { type: 'text', text }, status: messageStatus }, tx);
        await turns.finish(turn.id, turnStatus, errorCode, tx);
        await deps.work.complete(work, tx);
        await append('message.updated', id, tx);
        return append('message.done', id, tx);
      }),

    abandon: (errorCode) =>
      fenced(async (tx) => {
        await turns.finish(turn.id, 'failed', errorCode, tx);
        await deps.work.complete(work, tx);
        await setUserMessage('failed', tx);
      }),
  };
}
