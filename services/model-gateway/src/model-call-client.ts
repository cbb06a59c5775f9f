import {
  MODEL_CALLS_PATH,
  MODEL_CALLS_TOKEN_PATH,
  type ModelCallReservation,
  ModelCallTerms,
  type ModelCallUsage,
  ServiceTokenRefusal,
  TURN_BUDGET_REACHED,
} from '@uswarm/contract';
import { isNotConnected, parseJson, type SigningKey, type TokenVerdict, traceHeaders } from '@uswarm/service-kit';
import { Pool } from 'undici';
import { z } from 'zod';
import { GatewayError } from './gateway-error.js';
import { createServiceToken } from './service-token.js';

/** Model calls at the orchestrator's internal API. */
export interface ModelCallClient {
  /** @throws GatewayError `token_limit_reached`, `turn_budget_reached`, `turn_not_running`, `orchestrator_unavailable` */
  reserve(call: ModelCallReservation): Promise<ModelCallTerms>;
  /** Idempotent. An unknown call is ignored: its user or its reservation no longer exists. @throws GatewayError */
  settle(callId: string, usage: ModelCallUsage): Promise<void>;
  /** Asks only whether the service token is accepted. */
  checkToken(): Promise<void>;
  close(): Promise<void>;
}

export interface ModelCallClientOptions {
  /** Origin of the internal API. */
  url: string;
  key: SigningKey;
  /** Milliseconds for a whole call. */
  timeoutMs?: number;
  /** Called with what each response states about the service token. */
  onTokenVerdict?: (verdict: TokenVerdict) => void;
}

const CONNECTIONS = 64;
const MAX_RESPONSE_BYTES = 64 * 1024;
const RETRY_AFTER_S = 1;

export function createModelCallClient({
  url,
  key,
  timeoutMs = 5_000,
  onTokenVerdict = () => undefined,
}: ModelCallClientOptions): ModelCallClient {
  const pool = new Pool(url, { connections: CONNECTIONS, maxResponseSize: MAX_RESPONSE_BYTES });
  const serviceToken = createServiceToken(key);

  async function send(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) {
    try {
      const token = await serviceToken();
      const { statusCode, body: answer } = await pool.request({
        method,
        path,
        headers: { ...traceHeaders(), authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await answer.text();
      const verdict = verdictOf(statusCode, text);
      if (verdict !== undefined) onTokenVerdict(verdict);
      return { status: statusCode, answer: text };
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
    async checkToken() {
      await send('GET', MODEL_CALLS_TOKEN_PATH);
    },
    close: () => pool.close(),
  };
}

/** Release 0.2 does not say why it refuses a token. */
function verdictOf(status: number, answer: string): TokenVerdict | undefined {
  if (status < 300) return 'accepted';
  if (status !== 401) return undefined;
  const { data } = z.object({ extra: ServiceTokenRefusal }).safeParse(parseJson(answer));
  return data?.extra.service_token ?? 'invalid';
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
