import type { Transaction } from '../../platform/database/database.js';
import { withdrawCards } from '../approvals/withdraw-cards.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { MessageChange } from '../../records/message-rows.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import { callKey, type ToolStatus, type TurnMessagesDeps, unknownLine } from '../content/turn-messages.js';
import type { TurnRow } from '../turns.store.js';
import type * as turnRecords from '../turns.store.js';
import type * as approvalRecords from '../../records/approvals.store.js';

export interface TurnLeftoversDeps extends TurnMessagesDeps {
  turns: Pick<typeof turnRecords, 'findOpenCards' | 'findRunningTools'>;
  approvals: Pick<typeof approvalRecords, 'supersedeApprovalsOf'>;
  receipts: Pick<ReceiptLog, 'leave'>;
  push: Pick<PushJobs, 'withdraw'>;
}

export interface TurnLeftovers {
  /** Fails tool lines that a lost runtime ran. Sent calls stay open, because their outcomes can still be found. */
  failLostTools(tx: Transaction): Promise<void>;
  /** Ends all running lines. Calls that were sent without an outcome are looked up afterwards. */
  endTools(tx: Transaction): Promise<void>;
  withdrawCards(tx: Transaction): Promise<void>;
  /** Closes approvals for calls that are not executed. Call it before the turn ends, which deletes its calls. */
  closeApprovals(tx: Transaction): Promise<void>;
}

const failedLine = (line: ToolStatus): ToolStatus => ({ ...line, state: 'failed' });

export function createTurnLeftovers(deps: TurnLeftoversDeps, turn: TurnRow): TurnLeftovers {
  const { turns, messages, events } = deps;

  // Appends first, because the lock order is workspace, then messages.
  async function update(id: string, change: MessageChange, tx: Transaction): Promise<void> {
    await events.append({ workspaceId: turn.workspace_id, type: 'message.updated', subjectId: id }, tx);
    await messages.updateMessage(tx, id, change);
  }

  async function endLines(lineOf: (line: ToolStatus, key: string) => ToolStatus, tx: Transaction): Promise<void> {
    for (const { id, key, content } of await turns.findRunningTools(tx, turn.id)) {
      if (content.type !== 'tool_status') continue;
      const line = lineOf(content, key);
      if (line.state !== 'running') await update(id, { content: line }, tx);
    }
  }

  return {
    failLostTools: (tx) => endLines((line, key) => (key.startsWith(callKey('')) ? line : failedLine(line)), tx),

    async endTools(tx) {
      const unknown = new Set((await deps.receipts.leave(turn.id, tx)).map(callKey));
      await endLines((line, key) => (unknown.has(key) ? unknownLine(line) : failedLine(line)), tx);
    },

    async withdrawCards(tx) {
      const cards = await turns.findOpenCards(tx, turn.id);
      const { workspace_id: workspaceId } = turn;
      await withdrawCards(
        deps,
        cards.map((messageId) => ({ messageId, workspaceId })),
        tx,
      );
    },

    closeApprovals: async (tx) =>
      withdrawCards(deps, await deps.approvals.supersedeApprovalsOf(tx, { turnIds: [turn.id] }), tx),
  };
}
