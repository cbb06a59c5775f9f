import { randomUUIDv7 } from 'node:crypto';
import {
  ApiError,
  LIMITS,
  type MessageData,
  type MessageDraft,
  type MessagePage,
  type PageQuery,
} from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Transact } from '../../database/database.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { ConversationStore } from '../conversations/conversations.store.js';
import type { EventStore } from '../events/events.store.js';
import type { RuntimeWishes } from '../runtimes/runtime-wishes.js';
import type { TurnQueue } from '../turns/turn-queue.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { CursorCodec } from './cursor.js';
import { answeringAgent, bodyHash, checkedMentions, checkedText } from './draft.js';
import { messageView } from './message-view.js';
import type { MessageStore } from './messages.store.js';
import { readPage } from './page.js';

export interface MessageServiceDeps {
  transaction: Transact;
  store: Pick<MessageStore, 'insert' | 'find' | 'findSent' | 'page' | 'hasAny'>;
  conversations: Pick<ConversationStore, 'findTarget'>;
  agents: Pick<AgentStore, 'members'>;
  events: Pick<EventStore, 'append'>;
  turns: Pick<TurnQueue, 'enqueue' | 'waiting'>;
  runtimes: Pick<RuntimeWishes, 'keepAwake' | 'woken'>;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  clock: Clock;
  /** Called after a commit that left something to publish or to do. */
  committed: () => void;
}

/** Where a message goes, and under which id of the client's. */
export interface SendTarget {
  userId: string;
  workspaceId: string;
  conversationId: string;
  localId: string | undefined;
}

export interface MessageService {
  /** @throws ApiError `workspace_not_found`, `conversation_not_found`, `cursor_invalid` */
  list(userId: string, workspaceId: string, conversationId: string, query: PageQuery): Promise<MessagePage>;
  /**
   * Stores a message, queues the reply and wakes the runtime, in one transaction. The same `local_id` with the same
   * body gives the first result again, with another body `local_id_reused`.
   */
  send(target: SendTarget, draft: MessageDraft): Promise<MessageData>;
}

const FOREIGN_KEY_VIOLATION = '23503';

export function createMessageService(deps: MessageServiceDeps): MessageService {
  const { transaction, store, conversations, agents, events, turns, runtimes, access, clock } = deps;

  async function requireConversation(workspaceId: string, conversationId: string) {
    const conversation = await conversations.findTarget(workspaceId, conversationId);
    if (conversation === undefined) throw new ApiError('conversation_not_found');
    return conversation;
  }

  async function view(id: string): Promise<MessageData> {
    const [row] = await store.find([id]);
    // It went with its conversation, right after it was stored.
    if (row === undefined) throw new ApiError('conversation_not_found');
    return messageView(row, clock.now());
  }

  async function sentBefore(
    { workspaceId, userId, localId }: SendTarget,
    hash: Buffer,
  ): Promise<MessageData | undefined> {
    if (localId === undefined) return undefined;
    const earlier = await store.findSent(workspaceId, userId, localId);
    if (earlier === undefined) return undefined;
    if (earlier.body_hash?.equals(hash) !== true) throw new ApiError('local_id_reused');
    return view(earlier.id);
  }

  async function storeNew(target: SendTarget, draft: MessageDraft, hash: Buffer): Promise<string> {
    const { userId, workspaceId, conversationId, localId } = target;
    const conversation = await requireConversation(workspaceId, conversationId);
    const text = checkedText(draft.content);
    if (draft.attachments.length > 0) throw new ApiError('attachment_invalid');
    const members = await agents.members(workspaceId);
    const mentions = checkedMentions(draft, text, members);
    const agentId = answeringAgent(conversation, mentions, members);
    const id = randomUUIDv7();
    const woken = await transaction(async (tx) => {
      const suspended = await runtimes.keepAwake(workspaceId, tx);
      // Taking the seq locks the workspace, so the count below is exact under concurrent sends.
      const seq = await events.append({ workspaceId, type: 'message.new', subjectId: id }, tx);
      if ((await turns.waiting(conversationId, tx)) >= LIMITS.queuedTurns) throw new ApiError('turn_queue_full');
      await store.insert(
        {
          id,
          workspaceId,
          conversationId,
          seq,
          role: 'user',
          content: { type: 'text', text },
          status: 'sent',
          senderId: userId,
          bodyHash: hash,
          mentions,
          ...(localId === undefined ? {} : { localId }),
        },
        tx,
      );
      await turns.enqueue({ workspaceId, conversationId, agentId, userMessageId: id, ordinal: seq }, tx);
      return suspended;
    });
    deps.committed();
    if (woken) runtimes.woken(workspaceId);
    return id;
  }

  return {
    async list(userId, workspaceId, conversationId, query) {
      await access.require(userId, workspaceId);
      await requireConversation(workspaceId, conversationId);
      return readPage({ store, cursors: deps.cursors }, query, { userId, conversationId }, clock.now());
    },

    async send(target, draft) {
      await access.require(target.userId, target.workspaceId);
      const hash = bodyHash(target.conversationId, draft);
      const earlier = await sentBefore(target, hash);
      if (earlier !== undefined) return earlier;
      try {
        return await view(await storeNew(target, draft, hash));
      } catch (error) {
        // The same message came twice at once, and the other one was first: whatever stopped this
        // one (the unique index, a queue that is full by now), the first result is the answer.
        const winner = await sentBefore(target, hash);
        if (winner !== undefined) return winner;
        // The conversation was deleted meanwhile.
        if ((error as { code?: unknown }).code === FOREIGN_KEY_VIOLATION) throw new ApiError('conversation_not_found');
        throw error;
      }
    },
  };
}
