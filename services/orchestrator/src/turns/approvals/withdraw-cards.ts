import type { Transaction } from '../../platform/database/database.js';
import type { EventStore } from '../../records/events.store.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { MessageStore } from '../../records/messages.store.js';
import type { ClosedCard } from '../../records/approvals.store.js';

export interface WithdrawCardsDeps {
  messages: Pick<MessageStore, 'update'>;
  events: Pick<EventStore, 'append'>;
  push: Pick<PushJobs, 'withdraw'>;
}

export async function withdrawCards(
  { messages, events, push }: WithdrawCardsDeps,
  cards: readonly Pick<ClosedCard, 'messageId' | 'workspaceId'>[],
  tx: Transaction,
): Promise<void> {
  for (const { messageId, workspaceId } of cards) {
    // Lock order everywhere: workspace, messages.
    await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
    await messages.update(messageId, { status: 'failed', errorCode: 'withdrawn' }, tx);
  }
  if (cards.length > 0) await push.withdraw({ messageIds: cards.map(({ messageId }) => messageId) }, tx);
}
