import { LIMITS } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { OfferedCard } from '../../records/approval-card.js';
import { APPROVAL_KEY } from '../../records/approvals.store.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { TurnMessages } from '../content/turn-messages.js';
import type { TurnRow } from '../turns.store.js';
import type * as approvalRecords from '../../records/approvals.store.js';

const APPROVAL_MS = LIMITS.approvalHours * 3_600_000;

export interface AskedCall {
  id: string;
  tool: string;
  argumentsHash: Buffer;
  card: OfferedCard;
  /** Identifies the request in the other system. */
  key?: string | undefined;
  integrationId?: string | undefined;
  /** Set on a card that asks for more tokens for the turn, not for a call. */
  grantedTokens?: number;
}

export interface ApprovalCardDeps {
  approvals: Pick<typeof approvalRecords, 'approvalExpiryAt' | 'insertApproval'>;
  push: PushJobs;
}

/** @returns the sequence of its event */
export async function showApproval(
  { approvals, push }: ApprovalCardDeps,
  shown: Pick<TurnMessages, 'ask'>,
  turn: Pick<TurnRow, 'id' | 'conversation_id' | 'workspace_id'>,
  { id: callId, card, ...approved }: AskedCall,
  tx: Transaction,
): Promise<number> {
  const expiresAt = await approvals.approvalExpiryAt(tx, APPROVAL_MS);
  const content = { ...card, expires_at: expiresAt.toISOString() };
  const { id: cardMessageId, seq } = await shown.ask(`${APPROVAL_KEY}${callId}`, content, tx);
  const call = { cardMessageId, turnId: turn.id, conversationId: turn.conversation_id, callId };
  await approvals.insertApproval(tx, { ...call, ...approved, expiresAt });
  await push.announce({ messageId: cardMessageId, workspaceId: turn.workspace_id, seq }, tx);
  return seq;
}
