import {
  ApiError,
  AuthenticateAnswer,
  ErrorBody,
  INTERNAL_PATHS,
  type MessageSend,
  SendAnswer,
  type SessionEnd,
  SessionsAnswer,
  SubscriptionsAnswer,
} from '@uswarm/contract';
import { type SigningKey, signInternalToken, traceHeaders, parseJson } from '@uswarm/service-kit';
import { Pool } from 'undici';
import type { z } from 'zod';
import type { Credentials } from './features/connection/credentials.js';
import { type CallOutcome, type GatewayMetrics, type OrchestratorCall, outcomeOf } from './gateway-metrics.js';

/**
 * What the gateway asks of the orchestrator. Each call throws an ApiError with the orchestrator's own
 * code and `extra`, or `service_unavailable` when it cannot be asked.
 */
export interface OrchestratorClient {
  /** Who the credentials belong to. `clientAddress` is for limits by address. */
  authenticate(credentials: Credentials, clientAddress: string, requestId: string): Promise<AuthenticateAnswer>;
  /** Which of the workspaces the user may watch, and the last seq of each. */
  subscriptions(userId: string, workspaceIds: readonly string[], requestId: string): Promise<SubscriptionsAnswer>;
  /** Stores a message; the same `local_id` and body gives the first answer again. */
  send(userId: string, message: MessageSend, requestId: string): Promise<SendAnswer>;
  /** Which of the sessions (at most 1,000) have ended, by their place. */
  endedSessions(sessions: readonly Omit<SessionEnd, 'v'>[], requestId: string): Promise<SessionsAnswer>;
}

export interface OrchestratorClientOptions {
  /** Origin of the internal API. */
  url: string;
  key: SigningKey;
  /** Milliseconds for a whole call. */
  timeoutMs?: number;
  metrics?: Pick<GatewayMetrics, 'orchestratorSeconds'>;
}

/** In whose name the gateway asks who a client is. */
const SERVICE = 'realtime-gateway';
const CONNECTIONS = 64;
const LARGEST_ANSWER_BYTES = 1024 * 1024;

interface Call<Answer extends z.ZodType> {
  name: OrchestratorCall;
  subject: string;
  body: unknown;
  requestId: string;
  answer: Answer;
  headers?: Record<string, string>;
}

export function createOrchestratorClient({
  url,
  key,
  timeoutMs = 5_000,
  metrics,
}: OrchestratorClientOptions): OrchestratorClient & { close(): Promise<void> } {
  const pool = new Pool(url, { connections: CONNECTIONS, maxResponseSize: LARGEST_ANSWER_BYTES });

  const exchange = async ({ name, subject, body, requestId, headers }: Call<z.ZodType>) => {
    const token = await signInternalToken(key, subject);
    try {
      const response = await pool.request({
        method: 'POST',
        path: INTERNAL_PATHS[name],
        headers: {
          ...headers,
          ...traceHeaders(),
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'x-request-id': requestId,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (cause) {
      throw new ApiError('service_unavailable', { cause });
    }
  };

  const ask = async <Answer extends z.ZodType>(request: Call<Answer>): Promise<z.output<Answer>> => {
    const { status, text } = await exchange(request);
    if (status >= 300) throw refusal(status, text, request.name);
    try {
      return request.answer.parse(JSON.parse(text));
    } catch (cause) {
      throw new ApiError('internal_error', { cause });
    }
  };

  const call = async <Answer extends z.ZodType>(request: Call<Answer>): Promise<z.output<Answer>> => {
    const endTimer = metrics?.orchestratorSeconds.startTimer({ call: request.name });
    let outcome: CallOutcome = 'ok';
    try {
      return await ask(request);
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      endTimer?.({ outcome });
    }
  };

  return {
    authenticate: (credentials, clientAddress, requestId) =>
      call({
        name: 'authenticate',
        subject: SERVICE,
        body: { credentials },
        requestId,
        answer: AuthenticateAnswer,
        headers: clientAddress === '' ? {} : { 'x-forwarded-for': clientAddress },
      }),
    subscriptions: (userId, workspaceIds, requestId) =>
      call({
        name: 'subscriptions',
        subject: userId,
        body: { workspace_ids: workspaceIds },
        requestId,
        answer: SubscriptionsAnswer,
      }),
    send: (userId, message, requestId) =>
      call({ name: 'send', subject: userId, body: message, requestId, answer: SendAnswer }),
    endedSessions: (sessions, requestId) =>
      call({ name: 'sessions', subject: SERVICE, body: { sessions }, requestId, answer: SessionsAnswer }),
    close: () => pool.close(),
  };
}

/** The error of an answer; a proxy in between may have written it. */
function refusal(status: number, text: string, name: OrchestratorCall): ApiError {
  const body = ErrorBody.safeParse(parseJson(text));
  if (!body.success) return new ApiError(status >= 500 ? 'service_unavailable' : 'internal_error');
  const { code, message, extra } = body.data;
  // The user is known by now: what is not accepted here is our own service token.
  if (status === 401 && name !== 'authenticate') {
    return new ApiError('service_unavailable', { cause: new Error('the orchestrator refuses the service token') });
  }
  return new ApiError(code, { message, extra: extra ?? {} });
}
