import { randomUUID } from 'node:crypto';
import { ApiError, type FormValue, type MessageData } from '@uswarm/contract';
import type { ActionService } from '../chat/actions.service.js';
import type { MessageService } from '../chat/messages.service.js';
import { isId } from '../platform/database/id.js';
import { type ConversationOf, idOf, type Place } from './conversation-of.js';
import type { SentQuestion } from './questions.store.js';

/** The user's decision on a card. */
export interface Decision {
  cardId: string;
  /** Undefined refuses what the card asks for, if it has a button for that. */
  actionId: string | undefined;
  values?: Readonly<Record<string, FormValue>> | undefined;
}

/** A question or decisions of the user, or the message whose answer the program wants. */
export type Says =
  | { text: string }
  /** The same key in a conversation is the same question, which is not sent again. Without a text, it must be known. */
  | { text: string | undefined; key: string }
  /** The answer to which a message belongs. */
  | { message: string }
  | { decisions: readonly Decision[] };

export interface Asked {
  conversationId: string;
  questionId: string;
}

/** `isKnown`: the answer may have begun or ended before. */
export type FoundQuestion = Asked & { isKnown: boolean };

export interface QuestionOfDeps {
  conversationOf: ConversationOf;
  messages: Pick<MessageService, 'get' | 'send'>;
  actions: Pick<ActionService, 'choose'>;
  findQuestion: (question: SentQuestion) => Promise<string | undefined>;
  findQuestionOfChoice: (cardId: string) => Promise<string | null>;
}

/** Sends a question or decides on cards as apps do. @throws ApiError */
export type QuestionOf = (userId: string, place: Place, says: Says) => Promise<FoundQuestion>;

/** Buttons that refuse, by their ids. */
const REFUSALS = ['deny', 'decline'];

export function createQuestionOf(deps: QuestionOfDeps): QuestionOf {
  const { messages } = deps;

  async function read(userId: string, workspaceId: string, id: string): Promise<MessageData> {
    if (!isId(id)) throw new ApiError('message_not_found');
    return messages.get(userId, workspaceId, id);
  }

  /** The question itself, or the one whose answer answers it too. */
  async function known(userId: string, workspaceId: string, id: string): Promise<FoundQuestion> {
    const { answered_with: other, conversation_id: conversationId } = await read(userId, workspaceId, id);
    if (other !== undefined) return known(userId, workspaceId, other);
    return { conversationId, questionId: id, isKnown: true };
  }

  /** @returns false if there is nothing to decide */
  async function decide(userId: string, workspaceId: string, decision: Decision): Promise<boolean> {
    const { cardId: messageId, values } = decision;
    const card = await read(userId, workspaceId, messageId);
    const actionId = decision.actionId ?? refusalOf(card);
    if (actionId === undefined) return false;
    await deps.actions.choose({ userId, workspaceId, messageId, actionId, values });
    return true;
  }

  async function decideAll(
    userId: string,
    workspaceId: string,
    decisions: readonly Decision[],
  ): Promise<FoundQuestion> {
    let continued: string | null | undefined;
    for (const decision of decisions) {
      const { cardId } = decision;
      const isDecided = await decide(userId, workspaceId, decision);
      const ofCard = isDecided
        ? await deps.findQuestionOfChoice(cardId)
        : (await messages.get(userId, workspaceId, cardId)).in_reply_to;
      continued = ofCard ?? continued;
    }
    if (continued === undefined || continued === null) throw new ApiError('message_not_found');
    return known(userId, workspaceId, continued);
  }

  return async (userId, place, says) => {
    const { workspaceId } = place;
    if ('decisions' in says) return decideAll(userId, workspaceId, says.decisions);
    if ('message' in says) {
      const { in_reply_to: questionId = says.message } = await read(userId, workspaceId, says.message);
      return known(userId, workspaceId, questionId);
    }
    const conversationId = await deps.conversationOf(userId, place);
    const localId = 'key' in says ? idOf(conversationId, says.key) : randomUUID();
    const sent = 'key' in says ? await deps.findQuestion({ workspaceId, userId, localId }) : undefined;
    if (sent !== undefined) return known(userId, workspaceId, sent);
    if (says.text === undefined) throw new ApiError('message_not_found');
    const draft = { content: { type: 'text' as const, text: says.text }, mentions: [], attachments: [] };
    const { id } = await messages.send({ userId, workspaceId, conversationId, localId }, draft);
    return { conversationId, questionId: id, isKnown: false };
  };
}

/** Undefined if the card has no such button, or does not wait. */
function refusalOf({ content, status }: MessageData): string | undefined {
  if (content.type !== 'action_card' || status === 'failed' || (content.selected_action_id ?? null) !== null)
    return undefined;
  return content.actions.find(({ id }) => REFUSALS.includes(id))?.id;
}
