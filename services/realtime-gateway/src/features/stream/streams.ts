import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ApiError, type ErrorCode, STREAM_PATH } from '@uswarm/contract';
import { allowOrigins } from '@uswarm/service-kit/cors';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import { intercept } from '../../intercept.js';
import type { Timers } from '../../timers.js';
import type { RefusalReason } from '../../metrics/labels.js';
import type { Admission } from '../connection/admission.js';
import { EventStream } from './event-stream.js';
import { errorBody, refuse } from './refuse.js';
import { readStreamRequest } from './stream-request.js';

/** The used part of engine.io's server, which is undocumented. */
export interface StreamEngine {
  createTransport(name: string, request: IncomingMessage): object;
  handshake(name: string, request: IncomingMessage, refused: () => void): Promise<unknown>;
}

export interface StreamsDeps {
  /** Its present listeners handle all other paths. */
  httpServer: Server;
  engine: StreamEngine;
  refusalOf: Admission;
  corsOrigins: readonly string[];
  metrics: Pick<GatewayMetrics, 'connectionsRefused'>;
  timers: Timers;
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

const REFUSAL_CODES: Record<RefusalReason, ErrorCode> = {
  shutting_down: 'service_unavailable',
  overloaded: 'service_unavailable',
  address: 'rate_limited',
  origin: 'origin_not_allowed',
  not_admitted: 'origin_not_allowed',
};

/**
 * Serves `GET /v1/stream`, and refuses the paths below it, which edges route here too. A stream passes the same checks as a socket,
 * because it becomes one.
 */
export function serveStreams({ httpServer, engine, refusalOf, corsOrigins, metrics, timers }: StreamsDeps): void {
  const cors = allowOrigins(corsOrigins);
  const streams = new WeakMap<IncomingMessage, EventStream>();
  const createTransport = engine.createTransport.bind(engine);
  engine.createTransport = (name, request) => streams.get(request) ?? createTransport(name, request);

  function open(request: IncomingMessage, response: ServerResponse): EventStream {
    if (request.url?.startsWith(`${STREAM_PATH}/`) === true) throw new ApiError('route_not_found');
    if (request.method !== 'GET') {
      response.setHeader('allow', 'GET');
      throw new ApiError('method_not_allowed');
    }
    const reason = refusalOf(request);
    if (reason !== undefined) {
      metrics.connectionsRefused.inc({ reason });
      throw new ApiError(REFUSAL_CODES[reason]);
    }
    return new EventStream(response, readStreamRequest(request), timers);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    response.setHeader('x-request-id', randomUUID());
    try {
      const stream = open(request, response);
      streams.set(request, stream);
      // Query of a protocol 4 client.
      Object.assign(request, { _query: { EIO: '4', transport: stream.name } });
      await engine.handshake(stream.name, request, () => stream.close());
      stream.connect();
    } catch (error) {
      refuse(response, errorBody(error instanceof ApiError ? error : new ApiError('internal_error')));
    }
  }

  intercept(httpServer, 'request', (request, response: ServerResponse) => {
    const [path = ''] = request.url?.split('?', 1) ?? [];
    if (path !== STREAM_PATH && !path.startsWith(`${STREAM_PATH}/`)) return false;
    cors(request, response, () => void serve(request, response));
    return true;
  });
}
