import { createHash } from 'node:crypto';
import type { Receipt, SignedReceipt } from '@uswarm/contract';
import { canonicalJson, receiptPayload } from '@uswarm/service-kit';
import type { ReceiptRow } from './receipts.store.js';

/** SHA-256 over canonical JSON. */
export const argumentsHash = (input: unknown): Buffer => createHash('sha256').update(canonicalJson(input)).digest();

/** Only a workspace's owner can approve calls in it. Pure. */
export function receiptDocument(row: ReceiptRow): SignedReceipt {
  const { user_id, approval } = row;
  return {
    version: row.arguments === null ? 2 : 1,
    id: row.id,
    user_id,
    workspace_id: row.workspace_id,
    conversation_id: row.conversation_id,
    agent_id: row.agent_id,
    turn_id: row.turn_id,
    call_id: row.call_id,
    tool: row.tool,
    effect: row.effect,
    arguments: row.arguments,
    arguments_sha256: (row.arguments === null ? row.arguments_hash : argumentsHash(row.arguments)).toString('hex'),
    key: row.key,
    approval:
      approval === null
        ? null
        : {
            user_id,
            approved_at: new Date(approval.approved_at).toISOString(),
            title: approval.title,
            description: approval.description,
          },
    sent_at: row.sent_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
    status: row.status,
    outcome: row.outcome,
  };
}

/** A signed receipt is returned exactly as it was signed. */
export function receiptView(row: ReceiptRow): Receipt {
  if (row.jws === null) return { ...receiptDocument(row), jws: null };
  return { ...(receiptPayload(row.jws) as SignedReceipt), jws: row.jws };
}
