import type { Transaction } from '../../platform/database/database.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { ClosedCard } from '../../records/approvals.store.js';
import { updateMessage } from '../../records/message-rows.js';

export interface WithdrawCardsDeps {
  events: Pick<EventLog, 'append'>;
  push: Pick<PushJobs, 'withdraw'>;
}

export async function withdrawCards(
  { events, push }: WithdrawCardsDeps,
  cards: readonly Pick<ClosedCard, 'messageId' | 'workspaceId'>[],
  tx: Transaction,
): Promise<void> {
  for (const { messageId, workspaceId } of cards) {
    // Lock order everywhere: workspace, messages.
    await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
    await updateMessage(tx, messageId, { status: 'failed', errorCode: 'withdrawn' });
  }
  if (cards.length > 0) await push.withdraw({ messageIds: cards.map(({ messageId }) => messageId) }, tx);
}
