import { randomUUID } from 'node:crypto';
import { ApiError, type ClientEventName, type ErrorBody, exceedsDepth, LIMITS } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { toErrorBody } from '../../error-body.js';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import { createSerialQueue } from './serial-queue.js';
import type { TokenBucket } from './token-bucket.js';

/** One client event. */
export interface ClientEvent {
  payload: unknown;
  requestId: string;
  /** Answers the client's acknowledgement callback with `{ok: true, …}`, if it passed one. */
  acknowledge(fields: Record<string, unknown>): void;
}

export interface ClientEventHandler {
  /** Handles the event and emits its response. @throws any error; `refused` reports it to the client */
  handle(event: ClientEvent): Promise<void>;
  /** Emits the documented error event. */
  refused(error: ErrorBody, payload: unknown): void;
}

export type ClientEventHandlers = Partial<Record<ClientEventName, ClientEventHandler>>;

export interface DispatchDeps {
  handlers: ClientEventHandlers;
  /** Called for a refusal only: an idle socket has no logger. */
  logger: () => Pick<Logger, 'error' | 'debug'>;
  metrics: Pick<GatewayMetrics, 'throttled'>;
  /** Maximum number of queued events per socket; further ones are answered `service_unavailable`. */
  queueLimit: number;
  /** Rate of handled events; further ones are answered `rate_limited`. */
  rate: TokenBucket;
  /** Rate for events that the client should not have sent. Above it, `flooded` is called instead of a response. */
  refusals: TokenBucket;
  /** The client continues in spite of its refusals. Called once; later events are ignored. */
  flooded: () => void;
}

/** Retry time for a full queue, in milliseconds. */
const QUEUE_RETRY_MS = 1_000;

/** Of the budget for refusals, because a large payload must be read before it is refused. */
const LARGE_PAYLOAD_COST = 10;

/** A full queue causes refusals at the client's rate. The calls that fill it log why. */
const UNLOGGED = { error: () => undefined };

const queueFull = (): ApiError =>
  new ApiError('service_unavailable', { extra: { retry_after_ms: QUEUE_RETRY_MS, stored: 'no' } });

/** Why a payload is refused. Checked before it is queued, so that a queue holds no larger ones. */
function problemOf(payload: unknown): ApiError | undefined {
  // First, because encoding the payload is recursive.
  if (exceedsDepth(payload, LIMITS.jsonDepth)) {
    const message = `The payload is nested deeper than ${LIMITS.jsonDepth} levels.`;
    return new ApiError('validation_failed', { message });
  }
  if (Buffer.byteLength(JSON.stringify(payload) ?? '') <= LIMITS.bodyBytes) return undefined;
  return new ApiError('payload_too_large', { message: `The payload is larger than ${LIMITS.bodyBytes} bytes.` });
}

/**
 * Handles the events of one socket one at a time and in order: a subscribe applies to a send that follows it, and messages
 * keep their order. An acknowledgement callback always gets `{ok: true, …}` or the error object; no error stops the
 * process.
 */
export function createDispatch(deps: DispatchDeps): (name: string, ...args: unknown[]) => void {
  const { handlers, logger, metrics, queueLimit, rate, refusals, flooded } = deps;
  const queue = createSerialQueue(queueLimit);
  let flooding = false;

  /** @returns whether to report the refusal to the client */
  const mayRefuse = (cost?: number): boolean => {
    if (refusals(cost) === 0) return true;
    flooding = true;
    flooded();
    return false;
  };

  return (name, ...args) => {
    if (flooding) return;
    const callback = typeof args.at(-1) === 'function' ? (args.pop() as (answer: unknown) => void) : undefined;
    const [payload] = args;
    const requestId = randomUUID();
    const handler = Object.hasOwn(handlers, name) ? handlers[name as ClientEventName] : undefined;

    const refuse = (error: unknown, isExpected = false): void => {
      const log = logger();
      const body = toErrorBody(error, requestId, isExpected ? UNLOGGED : log);
      log.debug({ requestId, code: body.code }, 'event refused');
      handler?.refused(body, payload);
      callback?.(body);
    };
    const run = async (known: ClientEventHandler): Promise<void> => {
      try {
        const acknowledge = (fields: Record<string, unknown>): void => callback?.({ ok: true, ...fields });
        await known.handle({ payload, requestId, acknowledge });
      } catch (error) {
        refuse(error);
      }
    };

    const waitMs = rate();
    if (waitMs > 0) {
      metrics.throttled.inc({ reason: 'rate' });
      if (mayRefuse()) refuse(new ApiError('rate_limited', { extra: { retry_after_ms: waitMs } }));
    } else if (handler === undefined) {
      refuse(new ApiError('validation_failed', { message: 'Unknown event.' }));
    } else {
      const problem = problemOf(payload);
      if (problem?.code === 'payload_too_large' && !mayRefuse(LARGE_PAYLOAD_COST)) return;
      if (problem !== undefined) refuse(problem);
      else if (!queue.add(() => run(handler))) {
        // The service is slow, not the client too fast: it is not counted against the client.
        metrics.throttled.inc({ reason: 'queue' });
        refuse(queueFull(), true);
      }
    }
  };
}
