import { randomUUIDv7 } from 'node:crypto';
import type { DurableEventName, MessageContent } from '@uswarm/contract';
import type { Transaction } from '../../../database/database.js';
import type { EventStore } from '../../events/events.store.js';
import { insertSystemMessage } from '../../messages/system-message.js';
import type { MessageStore } from '../../messages/messages.store.js';
import type { PlatformTool } from '../../tools/platform-tool.js';
import type { OfferedContent } from '../reply/agent-content-schema.js';
import type { SafeMarkdown } from '../reply/reply-text.js';
import { safeContent } from '../reply/safe-content.js';
import type { TurnRow } from '../turns.store.js';

export interface TurnMessagesDeps {
  messages: Pick<MessageStore, 'update' | 'findOfTurn' | 'findLine' | 'find'> & {
    insert(...message: Parameters<MessageStore['insert']>): Promise<unknown>;
  };
  events: Pick<EventStore, 'append'>;
  markdown: Pick<SafeMarkdown, 'text'>;
}

export type ToolStatus = Extract<MessageContent, { type: 'tool_status' }>;

/** Messages of a turn in addition to its reply. Each has a key, unique in the turn. The methods return the seq of their event. */
export interface TurnMessages {
  /**
   * Shows the status of a tool call, listed before the reply with this seq. Keys of runtimes begin with `tool:`.
   *
   * @returns undefined if it is repeated: a completed call does not run again
   */
  tool(
    turnKey: string,
    content: ToolStatus,
    replySeq: number | undefined,
    tx: Transaction,
  ): Promise<number | undefined>;
  /** Stores content as a separate message, or updates the message with this key. Keys of runtimes begin with `message:`. */
  offer(turnKey: string, content: OfferedContent, tx: Transaction): Promise<number>;
  /** Stores a system message once per key. */
  note(key: string, text: string, tx: Transaction): Promise<void>;
}

/** The key of the line of a call that a runtime executes. */
export const runtimeKey = (callId: string): string => `tool:${callId}`;

/** The key of the line of a call that the orchestrator executes. A runtime cannot write it. */
export const callKey = (callId: string): string => `call:${callId}`;

/** Maximum length of descriptions of calls, in UTF-16 code units. */
const MAX_DESCRIPTION_LENGTH = 4_000;

/** What the line of a call shows. */
export const lineDescription = ({ describe }: Pick<PlatformTool, 'describe'>, input: unknown): string =>
  describe(input).slice(0, MAX_DESCRIPTION_LENGTH);

/** The line of a call to another system. The states of a line do not include an unknown outcome. */
export const unknownLine = (line: ToolStatus): ToolStatus => ({
  ...line,
  description: `It is not known whether this was executed: ${line.description}`,
  state: 'failed',
});

/** The turn of messages. */
export type MessagesOf = Pick<TurnRow, 'id' | 'workspace_id' | 'conversation_id' | 'agent_id'>;

export function createTurnMessages({ messages, events, markdown }: TurnMessagesDeps, turn: MessagesOf): TurnMessages {
  const workspaceId = turn.workspace_id;
  const context = { workspaceId, conversationId: turn.conversation_id };
  const ofAgent = { ...context, agentId: turn.agent_id, role: 'agent', status: 'delivered' } as const;

  const append = (type: DurableEventName, subjectId: string, tx: Transaction): Promise<number> =>
    events.append({ workspaceId, type, subjectId }, tx);

  return {
    async tool(key, reported, replySeq, tx) {
      const content = safeContent(reported, markdown);
      const line = await messages.findLine(turn.id, key, tx);
      if (line?.state === 'completed' && content.state === 'running') return undefined;
      if (line !== undefined) {
        // Locks the workspace before the message, as everywhere.
        const updatedSeq = await append('message.updated', line.id, tx);
        await messages.update(line.id, { content }, tx);
        return updatedSeq;
      }
      const id = randomUUIDv7();
      const seq = await append('message.new', id, tx);
      const before = replySeq === undefined ? {} : { beforeSeq: replySeq };
      await messages.insert({ id, ...ofAgent, seq, ...before, content, turn: { id: turn.id, key } }, tx);
      return seq;
    },

    async offer(turnKey, offered, tx) {
      const content = safeContent(offered, markdown);
      const existingId = await messages.findOfTurn(turn.id, turnKey, tx);
      if (existingId !== undefined) {
        const seq = await append('message.updated', existingId, tx);
        // Reads after `append` has locked the workspace, so that a concurrent choice is kept.
        const [row] = await messages.find([existingId], tx);
        const chosen = row?.content.type === 'action_card' && (row.content.selected_action_id ?? null) !== null;
        if (!chosen) await messages.update(existingId, { content, status: 'delivered' }, tx);
        return seq;
      }
      const id = randomUUIDv7();
      const seq = await append('message.new', id, tx);
      await messages.insert({ id, ...ofAgent, seq, content, turn: { id: turn.id, key: turnKey } }, tx);
      return seq;
    },

    async note(key, text, tx) {
      if ((await messages.findOfTurn(turn.id, key, tx)) !== undefined) return;
      await insertSystemMessage({ messages, events }, { ...context, text, turn: { id: turn.id, key } }, tx);
    },
  };
}
