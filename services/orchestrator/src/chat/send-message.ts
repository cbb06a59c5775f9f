import { ApiError, type MessageData, type SentDraft } from '@uswarm/contract';
import type { WithTransaction, Database } from '../platform/database/database.js';
import { titleOf } from '../records/title.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import type { Attachments } from '../workspaces/uploads/attachments.js';
import type { UsageLimits } from '../metering/usage-limits.js';
import { answeringAgents, bodyHash, checkedMentions, checkedText } from '../records/draft.js';
import { type CreateViewContext, type MessageRow, messageView } from './message-view.js';
import { findMessages } from '../records/messages.store.js';
import type { SendContext, SendTarget } from './send-context.store.js';
import { createSendDeadline, runBefore, type SendDeadline } from '../platform/http/send-deadline.js';
import type { UserMessages } from './user-messages.js';
import type { UserMessage } from './user-messages.store.js';

export interface SendMessageDeps {
  withTransaction: WithTransaction;
  database: Database;
  /** Undefined if the workspace does not belong to the sender. */
  findSendContext: (target: SendTarget) => Promise<SendContext | undefined>;
  messages: UserMessages;
  rates: Pick<RateLimits, 'send'>;
  limits: Pick<UsageLimits, 'requireLeft'>;
  attachments: Pick<Attachments, 'resolve'>;
  createViewContext: CreateViewContext;
}

/**
 * Stores a message, queues its turns and resumes the runtime in one transaction, which does not commit after the deadline. A
 * retry with the same `local_id` and body returns the first result; another body is rejected with `local_id_reused`.
 *
 * @throws ApiError whose `extra.stored` is `no` if it has the status 5xx and nothing was stored; other errors 5xx do not
 *   tell whether the message is stored
 */
export type SendMessage = (target: SendTarget, draft: SentDraft, deadline?: SendDeadline) => Promise<MessageData>;

/** For callers without a deadline. */
const DEADLINE_MS = 10_000;

export function createSendMessage(deps: SendMessageDeps): SendMessage {
  const { withTransaction, database, findSendContext, messages, createViewContext } = deps;

  async function view(id: string): Promise<MessageData> {
    const [row] = await findMessages(database, [id]);
    // The conversation was deleted after the message was stored.
    if (row === undefined) throw new ApiError('conversation_not_found');
    return messageView(row, createViewContext());
  }

  /** Returns the result of an earlier request with the same local id and body. @throws ApiError `local_id_reused` */
  async function findDuplicate(sent: SendContext['sent'], hash: Buffer): Promise<MessageData | undefined> {
    if (sent === undefined) return undefined;
    if (sent.bodyHash?.equals(hash) !== true) throw new ApiError('local_id_reused');
    return view(sent.id);
  }

  function storeAlone(message: UserMessage, uploads: readonly string[], deadline: SendDeadline): Promise<MessageRow> {
    return runBefore(deadline, (confirm) =>
      withTransaction(async (tx) => {
        // Uploads first: a long-lived lock on an upload must not wait for a lock taken here.
        const attachments = await deps.attachments.resolve(message.userId, uploads, tx);
        await messages.prepare(message.workspaceId, tx);
        const row = await messages.store({ ...message, attachments }, tx);
        confirm();
        return row;
      }),
    );
  }

  async function storeNew(
    { userId, workspaceId, conversationId, localId }: SendTarget,
    { conversation, members, usage, now }: SendContext,
    draft: SentDraft,
    hash: Buffer,
    deadline: SendDeadline,
  ): Promise<MessageRow> {
    if (conversation === undefined) throw new ApiError('conversation_not_found');
    const text = checkedText(draft);
    const mentions = checkedMentions(draft, text, members);
    const agentIds = answeringAgents(conversation, mentions, members);
    const title = conversation.hasTitle ? undefined : titleOf(text);
    const sender = { workspaceId, conversationId, userId, localId, bodyHash: hash };
    const message = { ...sender, agentIds, text, title, mentions, steers: draft.steer === true };
    const uploads = draft.attachments.map(({ id }) => id);
    deadline.check();
    if (uploads.length === 0) {
      deps.limits.requireLeft(usage);
      const row = await messages.storeTogether(message, new Date(now.getTime() + deadline.remainingMs()));
      if (row !== undefined) return row;
    }
    return storeAlone(message, uploads, deadline);
  }

  return async (target, draft, deadline = createSendDeadline(DEADLINE_MS)) => {
    const context = await findSendContext(target);
    if (context === undefined) throw new ApiError('workspace_not_found');
    if (context.isBanned) throw new ApiError('user_banned');
    const hash = bodyHash(target.conversationId, draft);
    const earlier = await findDuplicate(context.sent, hash);
    if (earlier !== undefined) return earlier;
    try {
      // After the lookup, so that a retry for a stored message does not count.
      await deps.rates.send(target.userId);
      return messageView(await storeNew(target, context, draft, hash, deadline), createViewContext());
    } catch (error) {
      // If a concurrent request stored the same message, its result is returned instead of any error, such as the
      // unique violation or a full queue.
      const firstMessage = await findDuplicate((await findSendContext(target))?.sent, hash);
      if (firstMessage !== undefined) return firstMessage;
      throw error;
    }
  };
}
