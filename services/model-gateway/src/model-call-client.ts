import {
  MODEL_CALLS_PATH,
  type ModelCallReservation,
  ModelCallTerms,
  type ModelCallUsage,
  TURN_BUDGET_REACHED,
} from '@uswarm/contract';
import { isNotConnected, parseJson, type SigningKey, traceHeaders } from '@uswarm/service-kit';
import { Pool } from 'undici';
import { GatewayError } from './gateway-error.js';
import { createServiceToken } from './service-token.js';

/** Model calls at the internal API of the orchestrator. */
export interface ModelCallClient {
  /** @throws GatewayError `token_limit_reached`, `turn_budget_reached`, `turn_not_running`, `orchestrator_unavailable` */
  reserve(call: ModelCallReservation): Promise<ModelCallTerms>;
  /** Idempotent. An unknown call is ignored: its user or its reservation no longer exists. @throws GatewayError */
  settle(callId: string, usage: ModelCallUsage): Promise<void>;
  close(): Promise<void>;
}

export interface ModelCallClientOptions {
  /** Origin of the internal API. */
  url: string;
  key: SigningKey;
  /** Milliseconds for a whole call. */
  timeoutMs?: number;
}

const CONNECTIONS = 64;
const MAX_RESPONSE_BYTES = 64 * 1024;
const RETRY_AFTER_S = 1;

export function createModelCallClient({ url, key, timeoutMs = 5_000 }: ModelCallClientOptions): ModelCallClient {
  const pool = new Pool(url, { connections: CONNECTIONS, maxResponseSize: MAX_RESPONSE_BYTES });
  const serviceToken = createServiceToken(key);

  async function send(method: 'POST' | 'PUT', path: string, body: unknown) {
    try {
      const token = await serviceToken();
      const { statusCode, body: answer } = await pool.request({
        method,
        path,
        headers: { ...traceHeaders(), authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: statusCode, answer: await answer.text() };
    } catch (cause) {
      throw unavailable(cause, !isNotConnected(cause));
    }
  }

  return {
    async reserve(call) {
      const { status, answer } = await send('POST', MODEL_CALLS_PATH, call);
      if (status === 201) return termsOf(answer);
      if (status === 402 && hasCode(answer, TURN_BUDGET_REACHED)) {
        throw new GatewayError('turn_budget_reached', 'The token budget of the turn is reached.');
      }
      if (status === 402) throw new GatewayError('token_limit_reached', 'The token limit of the plan is reached.');
      if (status === 404 || status === 409) throw new GatewayError('turn_not_running', 'The turn is not running.');
      throw unavailable(new Error(`the orchestrator returned status ${status}`));
    },
    async settle(callId, usage) {
      const { status } = await send('PUT', `${MODEL_CALLS_PATH}/${callId}`, usage);
      if (status !== 200 && status !== 404) {
        throw unavailable(new Error(`the orchestrator returned status ${status}`));
      }
    },
    close: () => pool.close(),
  };
}

const hasCode = (answer: string, code: string): boolean =>
  (parseJson(answer) as { code?: unknown } | undefined)?.code === code;

/** An orchestrator of another release may send other terms. */
function termsOf(answer: string): ModelCallTerms {
  const { data } = ModelCallTerms.safeParse(parseJson(answer));
  return data ?? { context_window: null, prices: null };
}

function unavailable(cause: unknown, outcomeUnknown = false): GatewayError {
  const message = 'The token limit cannot be checked now.';
  return new GatewayError('orchestrator_unavailable', message, { retryAfterS: RETRY_AFTER_S, outcomeUnknown, cause });
}
