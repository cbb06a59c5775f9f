import { randomUUID } from 'node:crypto';
import {
  ApiError,
  AuthenticateAnswer,
  BUS_VERSION_HEADER,
  type BusVersion,
  type DevicePositionsBody,
  ErrorBody,
  type ErrorCode,
  EventsAnswer,
  type EventsBody,
  GATEWAY_ID_HEADER,
  INTERNAL_PATHS,
  type MessageSend,
  PositionsAnswer,
  SEND_DEADLINE_HEADER,
  SendAnswer,
  ServiceTokenRefusal,
  type SessionEnd,
  SessionsAnswer,
  SubscriptionsAnswer,
} from '@uswarm/contract';
import {
  isNotConnected,
  parseJson,
  type SigningKey,
  signInternalToken,
  type TokenVerdict,
  traceHeaders,
} from '@uswarm/service-kit';
import { Pool } from 'undici';
import { z } from 'zod';
import type { Credentials } from './features/connection/credentials.js';
import { type CallOutcome, type GatewayMetrics, type OrchestratorCall, outcomeOf } from './metrics/gateway-metrics.js';

/**
 * The orchestrator's internal API. Each call throws an ApiError with the orchestrator's code and `extra`, or
 * `service_unavailable` if the orchestrator is unreachable.
 */
export interface OrchestratorClient {
  /** Authenticates credentials. `clientAddress` is used for limits per address. */
  authenticate(credentials: Credentials, clientAddress: string, requestId: string): Promise<AuthenticateAnswer>;
  /** Returns which workspaces the user may subscribe to, and the last sequence of each. */
  subscriptions(userId: string, workspaceIds: readonly string[], requestId: string): Promise<SubscriptionsAnswer>;
  /**
   * Stores a message. The same `local_id` and body return the first response again.
   *
   * @throws ApiError whose `extra.stored` is `no` if nothing was stored, and `unknown` if the message may be stored
   */
  send(userId: string, message: MessageSend, requestId: string): Promise<SendAnswer>;
  /** Returns the last sequences by workspace; at most 1,000 per call. Deleted workspaces are absent. */
  positions(workspaceIds: readonly string[], requestId: string): Promise<PositionsAnswer>;
  /** Returns a page from a workspace's event log. */
  events(range: z.input<typeof EventsBody>, requestId: string): Promise<EventsAnswer>;
  /** Stores what devices have applied; at most 1,000 positions per call. */
  devicePositions(positions: z.input<typeof DevicePositionsBody>['positions'], requestId: string): Promise<void>;
  /** Returns the indexes of revoked sessions; at most 1,000 sessions per call. */
  endedSessions(sessions: readonly Omit<SessionEnd, 'v'>[], requestId: string): Promise<SessionsAnswer>;
}

/** Calls the internal API only to learn whether it accepts the service token. */
export interface ServiceTokenCheck {
  checkServiceToken(requestId: string): Promise<void>;
}

export interface OrchestratorClientOptions {
  /** Origin of the internal API. */
  url: string;
  key: SigningKey;
  /** Milliseconds for a whole call. */
  timeoutMs?: number;
  metrics?: Pick<GatewayMetrics, 'orchestratorSeconds'>;
  /** Called with what each response states about the service token. */
  onTokenVerdict?: (verdict: TokenVerdict) => void;
}

/** Subject of the service token. */
const SERVICE = 'realtime-gateway';
const CONNECTIONS = 64;
/**
 * The rest of the send timeout is for the network: when the call fails, the orchestrator no longer stores the message.
 */
const STORING_SHARE = 0.8;
/** The version of bus envelopes that this gateway reads. */
const BUS_VERSION: BusVersion = 2;
/** An event page has at least one event, whose message text can be escaped to several times its length. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

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
  onTokenVerdict = () => undefined,
}: OrchestratorClientOptions): OrchestratorClient & ServiceTokenCheck & { close(): Promise<void> } {
  const announcement = { [BUS_VERSION_HEADER]: String(BUS_VERSION), [GATEWAY_ID_HEADER]: randomUUID() };
  const pool = new Pool(url, { connections: CONNECTIONS, maxResponseSize: MAX_RESPONSE_BYTES });

  const exchange = async ({ name, subject, body, requestId, headers }: Call<z.ZodType>) => {
    const token = await signInternalToken(key, subject);
    try {
      const response = await pool.request({
        method: 'POST',
        path: INTERNAL_PATHS[name],
        headers: {
          ...headers,
          ...traceHeaders(),
          ...announcement,
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

  const request = async <Answer extends z.ZodType>(call: Call<Answer>): Promise<z.output<Answer>> => {
    const { status, text } = await exchange(call);
    if (status >= 300) {
      const { error, verdict } = refusal(status, text, call.name);
      if (verdict !== undefined) onTokenVerdict(verdict);
      throw error;
    }
    try {
      const answer = call.answer.parse(JSON.parse(text));
      onTokenVerdict('accepted');
      return answer;
    } catch (cause) {
      throw new ApiError('internal_error', { cause });
    }
  };

  const measured = async <Answer extends z.ZodType>(call: Call<Answer>): Promise<z.output<Answer>> => {
    const endTimer = metrics?.orchestratorSeconds.startTimer({ call: call.name });
    let outcome: CallOutcome = 'ok';
    try {
      return await request(call);
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      endTimer?.({ outcome });
    }
  };

  return {
    authenticate: (credentials, clientAddress, requestId) =>
      measured({
        name: 'authenticate',
        subject: SERVICE,
        body: { credentials, api_tokens: true },
        requestId,
        answer: AuthenticateAnswer,
        headers: clientAddress === '' ? {} : { 'x-forwarded-for': clientAddress },
      }),
    subscriptions: (userId, workspaceIds, requestId) =>
      measured({
        name: 'subscriptions',
        subject: userId,
        body: { workspace_ids: workspaceIds },
        requestId,
        answer: SubscriptionsAnswer,
      }),
    async send(userId, message, requestId) {
      const headers = { [SEND_DEADLINE_HEADER]: String(Math.round(timeoutMs * STORING_SHARE)) };
      try {
        return await measured({ name: 'send', subject: userId, body: message, requestId, answer: SendAnswer, headers });
      } catch (error) {
        throw error instanceof ApiError ? withStored(error) : error;
      }
    },
    positions: (workspaceIds, requestId) =>
      measured({
        name: 'positions',
        subject: SERVICE,
        body: { workspace_ids: workspaceIds },
        requestId,
        answer: PositionsAnswer,
      }),
    events: (range, requestId) =>
      measured({ name: 'events', subject: SERVICE, body: range, requestId, answer: EventsAnswer }),
    async devicePositions(positions, requestId) {
      await measured({
        name: 'devicePositions',
        subject: SERVICE,
        body: { positions },
        requestId,
        answer: z.object({}),
      });
    },
    endedSessions: (sessions, requestId) =>
      measured({ name: 'sessions', subject: SERVICE, body: { sessions }, requestId, answer: SessionsAnswer }),
    async checkServiceToken(requestId) {
      await measured({ name: 'serviceToken', subject: SERVICE, body: {}, requestId, answer: z.object({}) });
    },
    close: () => pool.close(),
  };
}

/** The error of a send; tells if the message may be stored. */
function withStored(error: ApiError): ApiError {
  const { code, message, extra, cause, status } = error;
  const isKnown = status < 500 || extra['stored'] === 'no' || isNotConnected(cause);
  return new ApiError(code, { message, cause, extra: { ...extra, stored: isKnown ? 'no' : 'unknown' } });
}

interface Refused {
  error: ApiError;
  /** Why the service token was refused; undefined if it is not known that it was. */
  verdict?: TokenVerdict;
}

/** Codes from a server that is not the internal API, or from another release. No user is the cause. */
const WRONG_SERVER: ReadonlySet<ErrorCode> = new Set([
  'route_not_found',
  'method_not_allowed',
  'unsupported_media_type',
]);

const ownFault = (cause: string): ApiError => new ApiError('service_unavailable', { cause: new Error(cause) });

/** The error in a response, which may come from a proxy. */
function refusal(status: number, text: string, name: OrchestratorCall): Refused {
  const body = ErrorBody.safeParse(parseJson(text));
  if (!body.success) return { error: new ApiError(status >= 500 ? 'service_unavailable' : 'internal_error') };
  const { code, message, extra } = body.data;
  const refused = ServiceTokenRefusal.safeParse(extra);
  // Release 0.2 does not report whose token it refuses. Calls other than `authenticate` have no user token.
  if (status === 401 && (refused.success || name !== 'authenticate')) {
    return {
      error: ownFault('the orchestrator refused the service token'),
      verdict: refused.data?.service_token ?? 'invalid',
    };
  }
  if (WRONG_SERVER.has(code)) return { error: ownFault(`the internal API responded ${code}`) };
  return { error: new ApiError(code, { message, extra: extra ?? {} }) };
}
