import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay, type Logger } from '@uswarm/service-kit';
import { callHash } from '../../records/approval-card.js';
import { type ReceiptLog, UNKNOWN_OUTCOME } from '../receipts/receipt-log.js';
import type { NewReceipt, ReceiptEnd, SentReceipt } from '../receipts/receipts.store.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import { failed, withOutcome } from './outcomes.js';
import {
  AccountNeeded,
  type Commit,
  type ExternalTool,
  type Plan,
  type ToolCall,
  type ToolOutcome,
  UncertainOutcome,
} from './platform-tool.js';
import { unavailable } from './prepare-call.js';

/** For a `keyed` request. */
const ATTEMPTS = 3;
/** Attempts to find a request without an answer: searches can lag behind. */
const LOOK_UPS = 2;
const RETRY = { initialMs: 500, maxMs: 2_000 };

export type NotSent = 'stopped' | 'too many calls';

export const NOT_SENT: Record<NotSent, ToolOutcome> = {
  stopped: failed('This reply was stopped. Nothing was changed.'),
  'too many calls': failed(
    'Nothing was changed: this reply has sent too many calls to other apps. Tell the user what was done so far.',
  ),
};
const OTHER_ACCOUNT = failed('Nothing was changed: the user has connected another account in the meantime.');

export interface SendCallDeps {
  /** Undefined if the call was not sent. */
  sent?: SentReceipt | undefined;
  /** Identifies the request that the user approved. Default: the call is planned. */
  approved?: { key: string | null; integrationId: string | null } | undefined;
  /**
   * Stores that the call is about to be sent. Throws if the turn has lost its lease.
   *
   * @returns why it must not be sent, if so
   */
  markSent: (receipt: NewReceipt) => Promise<NotSent | undefined>;
  receipts: Pick<ReceiptLog, 'finish'>;
  logger: Pick<Logger, 'error' | 'warn'>;
  /** Milliseconds before the first retry. Default: 500. */
  retryMs?: number | undefined;
}

type SentOutcome = ToolOutcome & Pick<ReceiptEnd, 'status'>;
/** No trace was found yet. Another process may still send the request, so it is looked up again after the turn. */
type NotLookedUp = ToolOutcome & { status: 'sent' };

const ended = (outcome: ToolOutcome): SentOutcome => ({ ...outcome, status: outcome.failed ? 'failed' : 'succeeded' });
const unknown = { text: UNKNOWN_OUTCOME, failed: true, isUnknown: true } as const;

/**
 * Sends a call to another system, only after it is stored as sent. A `once` request is never repeated: after a crash or
 * without an answer, `lookUp` asks the other system, and the outcome is unknown if it finds nothing.
 *
 * @returns what stores the outcome
 * @throws AccountNeeded if nothing was sent
 * @throws ReplyLimitExceeded if the arguments differ from what was sent before
 */
export async function sendCall(
  tool: ExternalTool,
  input: unknown,
  call: ToolCall,
  deps: SendCallDeps,
): Promise<Commit> {
  const { logger } = deps;
  const retry = { ...RETRY, initialMs: deps.retryMs ?? RETRY.initialMs };
  const argumentsHash = callHash(tool.name, input);

  async function planned(): Promise<Plan> {
    const { approved } = deps;
    if (approved !== undefined && approved.integrationId !== (call.integrationId ?? null))
      return { outcome: OTHER_ACCOUNT };
    // The key has the version on the card: a call must not change what the user has not seen.
    if (typeof approved?.key === 'string') return { key: approved.key };
    try {
      return await tool.plan(input, call);
    } catch (error) {
      if (error instanceof AccountNeeded) throw error;
      logger.error({ err: error, tool: tool.name, turn: call.turnId }, 'a tool call could not be sent');
      return { outcome: unavailable(tool.name) };
    }
  }

  /** @returns a new call's key; its outcome if it is not sent */
  async function begin(): Promise<string | ToolOutcome> {
    const plan = await planned();
    if ('outcome' in plan) return plan.outcome;
    if (call.signal.aborted) return NOT_SENT.stopped;
    const { signal: _, ask: __, ...caller } = call;
    const { name, effect } = tool;
    const receipt = { call: caller, tool: name, effect, arguments: input, argumentsHash, key: plan.key };
    const refused = await deps.markSent(receipt);
    return refused === undefined ? plan.key : NOT_SENT[refused];
  }

  /** @returns undefined if the outcome is uncertain */
  async function attempt(request: () => Promise<ToolOutcome | undefined>): Promise<SentOutcome | undefined> {
    try {
      const outcome = await request();
      return outcome === undefined ? undefined : ended(outcome);
    } catch (error) {
      const level = error instanceof UncertainOutcome ? 'warn' : 'error';
      logger[level]({ err: error, tool: tool.name, turn: call.turnId }, 'a tool call has no certain outcome');
      return undefined;
    }
  }

  async function repeat(
    times: number,
    request: (isFirst: boolean) => Promise<ToolOutcome | undefined>,
  ): Promise<SentOutcome | undefined> {
    for (let tries = 0; tries < times; tries += 1) {
      if (tries > 0) await sleep(backoffDelay(retry, tries - 1));
      const outcome = await attempt(() => request(tries === 0));
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  async function lookUp(key: string): Promise<SentOutcome | NotLookedUp> {
    const outcome = await repeat(LOOK_UPS, () => tool.lookUp(input, key, call));
    return outcome ?? { ...unknown, status: 'sent' };
  }

  async function finish(key: string, isNew: boolean): Promise<SentOutcome | NotLookedUp> {
    // Another account knows neither the key nor the request.
    if (deps.sent !== undefined && deps.sent.integrationId !== (call.integrationId ?? null))
      return { ...unknown, status: 'unknown' };
    if (tool.effect === 'keyed') {
      const sent = await repeat(ATTEMPTS, async (isFirst) => {
        const outcome = await tool.send(input, key, call);
        // An earlier request may have been executed, although this one is refused.
        return outcome.failed && !(isNew && isFirst) ? undefined : outcome;
      });
      return sent ?? (await lookUp(key));
    }
    const answered = isNew ? await attempt(() => tool.send(input, key, call)) : undefined;
    return answered ?? (await lookUp(key));
  }

  const stored = deps.sent;
  if (stored !== undefined && !stored.argumentsHash.equals(argumentsHash))
    throw new ReplyLimitExceeded('runtime_output_invalid', 'arguments_changed');
  if (stored !== undefined && stored.outcome !== null) {
    const { outcome: text, status } = stored;
    return withOutcome({ text, failed: status !== 'succeeded', isUnknown: status === 'unknown' });
  }
  const key = stored?.key ?? (await begin());
  if (typeof key !== 'string') return withOutcome(key);
  const { status, ...outcome } = await finish(key, stored === undefined);
  return async (tx) => {
    if (status !== 'sent') await deps.receipts.finish(call.turnId, call.id, { status, outcome: outcome.text }, tx);
    return outcome;
  };
}
