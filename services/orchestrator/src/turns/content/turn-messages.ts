import { randomUUIDv7 } from 'node:crypto';
import type { MessageContent } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { EventLog } from '../../records/event-log.js';
import type { AddedMessage } from '../../records/message-rows.js';
import { noteLimit } from '../../metering/limit-note.js';
import type { LimitReached } from '../../metering/usage-limits.js';
import { insertSystemMessage } from '../../records/system-message.js';
import type { PlatformTool, ShowMessage } from '../tools/platform-tool.js';
import type { OfferedContent } from './agent-content-schema.js';
import { type SafeMarkdown, safeContent } from './reply-text.js';
import type { TurnRow } from '../turns.store.js';
import type * as messageRecords from '../../records/messages.store.js';

export interface TurnMessagesDeps {
  messages: Pick<
    typeof messageRecords,
    'updateMessage' | 'findMessages' | 'findMessageOfTurn' | 'findToolLine' | 'hasSystemMessage'
  >;
  events: Pick<EventLog, 'addMessage' | 'placeMessage' | 'append' | 'changeMessage' | 'lock'>;
  markdown: Pick<SafeMarkdown, 'text'>;
}

export type ToolStatus = Extract<MessageContent, { type: 'tool_status' }>;

type ToolLine = NonNullable<Awaited<ReturnType<typeof messageRecords.findToolLine>>>;

type Shown = Awaited<ReturnType<ShowMessage>>;

/** Sent in addition to the reply. Each has a key, unique in the turn. The methods return the seq of their event. */
export interface TurnMessages {
  /**
   * Shows a tool call's status, listed before the reply with this seq. Runtime keys begin with `tool:`.
   *
   * @param found the call's line, if it was read in this transaction
   * @returns undefined if it is repeated: a completed call does not run again
   */
  tool(
    turnKey: string,
    content: ToolStatus,
    replySeq: number | undefined,
    tx: Transaction,
    found?: Promise<ToolLine | undefined>,
  ): Promise<number | undefined>;
  findTool(turnKey: string, tx: Transaction): Promise<ToolLine | undefined>;
  /** Stores content as a separate message, or updates the message with this key. Runtime keys begin with `message:`. */
  offer(turnKey: string, content: OfferedContent, tx: Transaction): Promise<number>;
  /** Like `offer`, for a card that the turn waits for: see `show`. */
  ask(turnKey: string, card: OfferedContent, tx: Transaction): Promise<Shown>;
  /** Takes the place of an empty reply. */
  show: ShowMessage;
  /** Has no effect for a known key. */
  note(key: string, text: string, tx: Transaction): Promise<void>;
  /** Shows that a limit is reached, once per conversation and month. */
  limit(reached: LimitReached, tx: Transaction): Promise<void>;
}

/** For calls that a runtime executes. */
export const runtimeKey = (callId: string): string => `tool:${callId}`;

/** For calls that the orchestrator executes. A runtime cannot write such a key. */
export const callKey = (callId: string): string => `call:${callId}`;

/** UTF-16 code units. */
const MAX_DESCRIPTION_LENGTH = 4_000;

export const lineDescription = ({ describe }: Pick<PlatformTool, 'describe'>, input: unknown): string =>
  describe(input).slice(0, MAX_DESCRIPTION_LENGTH);

/** Changes the line of a call to another system, because line states do not include an unknown outcome. */
export const unknownLine = (line: ToolStatus): ToolStatus => ({
  ...line,
  description: `It is not known whether this was executed: ${line.description}`,
  state: 'failed',
});

export type MessagesOf = Pick<TurnRow, 'id' | 'workspace_id' | 'conversation_id' | 'agent_id'>;

export interface LoadingReply {
  isEmpty(): boolean;
  taken(): void;
}

/** Only a running turn has a reply that can be replaced. */
const NO_REPLY: LoadingReply = { isEmpty: () => false, taken: () => undefined };

export function createTurnMessages(
  { messages, events, markdown }: TurnMessagesDeps,
  turn: MessagesOf,
  reply: LoadingReply = NO_REPLY,
): TurnMessages {
  const workspaceId = turn.workspace_id;
  const context = { workspaceId, conversationId: turn.conversation_id };
  const ofAgent = { ...context, agentId: turn.agent_id, role: 'agent', status: 'delivered' } as const;

  const add = (key: string, shown: Pick<AddedMessage, 'content' | 'beforeSeq'>, tx: Transaction): Promise<number> =>
    events.addMessage({ id: randomUUIDv7(), ...ofAgent, ...shown, turn: { id: turn.id, key } }, tx);

  const show: ShowMessage = async ({ key, ...message }, tx) => {
    const shown = { ...message, turn: { id: turn.id, key } };
    if (!reply.isEmpty())
      return { id: shown.id, seq: await events.addMessage({ ...shown, role: 'agent', status: 'delivered' }, tx) };
    const placed = await events.placeMessage(shown, tx);
    if (placed.isReply) tx.afterCommit(reply.taken);
    return placed;
  };

  async function updateExisting(key: string, content: MessageContent, tx: Transaction): Promise<Shown | undefined> {
    const id = await messages.findMessageOfTurn(tx, turn.id, key);
    if (id === undefined) return undefined;
    const seq = await events.append({ workspaceId, type: 'message.updated', subjectId: id }, tx);
    // Reads after `append` has locked the workspace, so that a concurrent choice is kept.
    const [row] = await messages.findMessages(tx, [id]);
    const chosen = row?.content.type === 'action_card' && (row.content.selected_action_id ?? null) !== null;
    if (!chosen) await messages.updateMessage(tx, id, { content, status: 'delivered' });
    return { id, seq };
  }

  const findTool: TurnMessages['findTool'] = (key, tx) => messages.findToolLine(tx, turn.id, key);

  return {
    async tool(key, reported, replySeq, tx, found = findTool(key, tx)) {
      const content = safeContent(reported, markdown);
      const line = await found;
      if (line?.state === 'completed' && content.state === 'running') return undefined;
      if (line !== undefined) {
        const changed = { workspaceId, id: line.id, change: { content }, types: ['message.updated'] } as const;
        return (await events.changeMessage(changed, tx))?.[0];
      }
      return add(key, { content, ...(replySeq === undefined ? {} : { beforeSeq: replySeq }) }, tx);
    },

    findTool,

    async offer(turnKey, offered, tx) {
      const content = safeContent(offered, markdown);
      const existing = await updateExisting(turnKey, content, tx);
      return existing?.seq ?? add(turnKey, { content }, tx);
    },

    async ask(turnKey, card, tx) {
      const content = safeContent(card, markdown);
      const shown = { id: randomUUIDv7(), ...context, agentId: turn.agent_id, content, key: turnKey };
      return (await updateExisting(turnKey, content, tx)) ?? show(shown, tx);
    },

    show,

    async note(key, text, tx) {
      if ((await messages.findMessageOfTurn(tx, turn.id, key)) !== undefined) return;
      await insertSystemMessage({ events }, { ...context, text, turn: { id: turn.id, key } }, tx);
    },

    limit: (reached, tx) =>
      noteLimit(
        { events, hasSystemMessage: messages.hasSystemMessage },
        { ...context, limit: reached, turn: { id: turn.id, key: `limit:${reached.scope}:${reached.resets_at}` } },
        tx,
      ),
  };
}
