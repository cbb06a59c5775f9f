import { ApiError } from '@uswarm/contract';
import type { ConversationService } from '../chat/conversations.service.js';
import type { MessageService } from '../chat/messages.service.js';
import { hashedId, isId } from '../platform/database/id.js';
import type { AgentService } from '../workspaces/agents/agents.service.js';

export interface ConversationOfDeps {
  agents: Pick<AgentService, 'list'>;
  conversations: Pick<ConversationService, 'create' | 'get'>;
  messages: Pick<MessageService, 'get'>;
}

/** Where a question continues: in our conversation, after an earlier question, or in the program's chat. */
export type Continues = { conversationId: string } | { questionId: string } | { chat: string } | undefined;

export interface Place {
  workspaceId: string;
  /** `swarm`, or an agent's slug. */
  agent: string;
  continues: Continues;
}

/** Creates the conversation if it does not exist. @throws ApiError `agent_not_found`, `conversation_not_found`, `message_not_found` */
export type ConversationOf = (userId: string, place: Place) => Promise<string>;

export function createConversationOf({ agents, conversations, messages }: ConversationOfDeps): ConversationOf {
  async function create(userId: string, { workspaceId, agent }: Place, id?: string): Promise<string> {
    const owner = { userId, key: undefined };
    if (agent === 'swarm') return (await conversations.create(owner, workspaceId, { type: 'swarm' }, id)).id;
    const found = (await agents.list(userId, workspaceId)).find(({ slug }) => slug === agent);
    if (found === undefined) throw new ApiError('agent_not_found');
    return (await conversations.create(owner, workspaceId, { type: 'agent', agent_id: found.id }, id)).id;
  }

  async function exists(userId: string, workspaceId: string, id: string): Promise<boolean> {
    try {
      await conversations.get(userId, workspaceId, id);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conversation_not_found') return false;
      throw error;
    }
  }

  return async (userId, place) => {
    const { workspaceId, continues } = place;
    if (continues === undefined) return create(userId, place);
    if ('questionId' in continues) {
      const { questionId: id } = continues;
      if (!isId(id)) throw new ApiError('message_not_found');
      return (await messages.get(userId, workspaceId, id)).conversation_id;
    }
    if ('conversationId' in continues) {
      const { conversationId: id } = continues;
      if (!isId(id) || !(await exists(userId, workspaceId, id))) throw new ApiError('conversation_not_found');
      return id;
    }
    // Also the id that an earlier answer had.
    if (isId(continues.chat) && (await exists(userId, workspaceId, continues.chat))) return continues.chat;
    const id = idOf(workspaceId, continues.chat);
    return (await exists(userId, workspaceId, id)) ? id : create(userId, place, id);
  };
}

export type ProgramHeaders = Readonly<Record<string, unknown>>;

/** Chat programs name their chat in these headers, or send one of these values. */
const CHAT_HEADERS = ['x-conversation-id', 'x-openwebui-chat-id'];
const UNNAMED: ReadonlySet<unknown> = new Set([undefined, '', 'new', 'null', 'undefined']);

export function chatIn(headers: ProgramHeaders): Continues {
  const chat = CHAT_HEADERS.map((name) => headers[name]).find((value) => !UNNAMED.has(value));
  return chat === undefined ? undefined : { chat: String(chat) };
}

/** The same for the same name, so that no table has to remember it. */
export const idOf = (place: string, name: string): string => hashedId(`${place}\n${name}`);
