import type { Clock, Logger } from '@uswarm/service-kit';
import type { WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { EventLog } from '../../records/event-log.js';
import type { CallRules } from '../tools/call-rules.js';
import type { ExternalTool, PlatformTool } from '../tools/platform-tool.js';
import {
  callKey,
  createTurnMessages,
  lineDescription,
  type TurnMessagesDeps,
  unknownLine,
} from '../content/turn-messages.js';
import { RECEIPT_ROW, type ReceiptLog, UNKNOWN } from './receipt-log.js';
import type { ReceiptEnd, ReceiptRow } from './receipts.store.js';

const MINUTE_MS = 60_000;
/** After this time a sent request has arrived or is lost, and a search in the other system shows which. */
const TRACE_MS = MINUTE_MS;
/** How long an unresponsive system is asked again. */
const REACHABLE_MS = 60 * MINUTE_MS;
const AGAIN_MS = 15_000;
const LOOKED_UP = 20;
const SIGNED = 100;

export interface ReceiptSettlingDeps extends TurnMessagesDeps {
  receipts: Pick<ReceiptLog, 'left' | 'finishLeft' | 'signEnded'>;
  events: TurnMessagesDeps['events'] & Pick<EventLog, 'lock'>;
  tools: readonly PlatformTool[];
  connection: CallRules['connection'];
  withTransaction: WithTransaction;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

/**
 * Ends calls that were sent when their turn ended or disappeared: looks them up in the other system, stores their
 * outcome and shows it in their line. Changes nothing in the other system.
 */
export function createReceiptSettling(deps: ReceiptSettlingDeps) {
  const { receipts, withTransaction, clock, logger } = deps;
  const tools = new Map<string, ExternalTool>();
  for (const tool of deps.tools) if ('lookUp' in tool) tools.set(tool.name, tool);

  /** @returns undefined if it must be looked up again */
  async function endOf(row: ReceiptRow, tool: ExternalTool | undefined): Promise<ReceiptEnd | undefined> {
    const { user_id: userId, integration_id: integrationId, sent_at: sentAt } = row;
    if (tool === undefined) return UNKNOWN;
    // Another account knows neither the key nor the request.
    if (((await deps.connection(userId, tool)) ?? null) !== integrationId) return UNKNOWN;
    const ageMs = clock.now().getTime() - sentAt.getTime();
    try {
      const outcome = await tool.lookUp(row.arguments, row.key, { userId });
      if (outcome !== undefined) return { status: outcome.failed ? 'failed' : 'succeeded', outcome: outcome.text };
      return ageMs >= TRACE_MS ? UNKNOWN : undefined;
    } catch (error) {
      logger.warn({ err: error, receipt: row.id, tool: row.tool }, 'a sent call could not be looked up');
      return ageMs >= REACHABLE_MS ? UNKNOWN : undefined;
    }
  }

  async function store(row: ReceiptRow, end: ReceiptEnd, tool: ExternalTool | undefined): Promise<void> {
    const { id, turn_id: turnId, call_id: callId, workspace_id, conversation_id, agent_id } = row;
    const key = callKey(callId);
    await withTransaction(async (tx) => {
      const line = await deps.messages.findToolLine(tx, turnId, key);
      // Locks the workspace before the receipt, as the choice that continues a turn does.
      if (line !== undefined) await deps.events.lock(workspace_id, tx);
      if (!(await receipts.finishLeft(id, end, tx)) || line === undefined || tool === undefined) return;
      // When a turn ends, its calls without an outcome are already shown as unknown.
      if (end.status === 'unknown' && line.state !== 'running') return;
      const state = end.status === 'succeeded' ? 'completed' : 'failed';
      const description = lineDescription(tool, row.arguments);
      const content = { type: 'tool_status', tool: tool.name, description, state } as const;
      const shown = createTurnMessages(deps, { id: turnId, workspace_id, conversation_id, agent_id });
      await shown.tool(key, end.status === 'unknown' ? unknownLine(content) : content, undefined, tx);
    });
  }

  /** @returns false if the call must be looked up again */
  async function settleOne(row: ReceiptRow): Promise<boolean> {
    const tool = tools.get(row.tool);
    const end = await endOf(row, tool);
    if (end === undefined) return false;
    await store(row, end, tool);
    return true;
  }

  return {
    /** @returns the number of calls that must be looked up again */
    async settle(signal: AbortSignal): Promise<number> {
      let open = 0;
      for (let afterId: string | undefined; !signal.aborted;) {
        const rows = await receipts.left(LOOKED_UP, afterId);
        const ended = await Promise.all(rows.map(settleOne));
        open += ended.filter((hasEnded) => !hasEnded).length;
        afterId = rows.at(-1)?.id;
        if (rows.length < LOOKED_UP) break;
      }
      for (let last = SIGNED; last === SIGNED && !signal.aborted;) {
        last = await withTransaction((tx) => receipts.signEnded(SIGNED, tx));
      }
      return open;
    },
  };
}

/** Ends receipts whose turn has ended or disappeared, and signs receipts that have no signature. */
export const receiptSettling = (deps: ReceiptSettlingDeps): JobDefinition => {
  const { settle } = createReceiptSettling(deps);
  return {
    type: RECEIPT_ROW.kind,
    atStart: RECEIPT_ROW,
    async handle(_job, signal) {
      const open = await settle(signal);
      if (signal.aborted) return { againInMs: 0 };
      return { againInMs: open > 0 ? AGAIN_MS : MINUTE_MS };
    },
  };
};
