import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { TRANSCRIPTIONS_PATH } from '@uswarm/contract';
import { inSpan, type Logger, type ModelTokenTurn, verifyModelToken } from '@uswarm/service-kit';
import type { ModelGatewayConfig } from './config.js';
import { GatewayError } from './gateway-error.js';
import type { CallResult, ModelGatewayMetrics } from './metrics.js';
import { createModelCalls } from './model-call.js';
import type { ModelCallClient } from './model-call-client.js';
import { openai } from './protocols/openai.js';
import type { Protocol } from './protocols/protocol.js';
import { CallCut, createProviderClient } from './provider-client.js';
import { type Provider, PROVIDERS } from './providers.js';
import { createRequestMemory } from './request-memory.js';
import { createSendCall } from './send-call.js';
import { createSettlements } from './settlements.js';
import { createTranscribe, TRANSCRIPTION_PROVIDER } from './transcription/transcribe.js';
import { createWorkspaceLimiter } from './workspace-limiter.js';

export interface ModelGatewayDeps {
  config: Pick<ModelGatewayConfig, 'tokenKeys' | 'providers' | 'transcription' | 'outputLimit' | 'limits' | 'proxy'>;
  /** Reserves and settles calls at the orchestrator. */
  calls: Pick<ModelCallClient, 'reserve' | 'settle'>;
  metrics: ModelGatewayMetrics;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

export interface ModelGateway {
  handler: RequestListener;
  /** Cuts running calls and settles all calls. */
  close(): Promise<void>;
}

/** Milliseconds to settle the last calls. */
const SETTLE_MS = 5_000;

/**
 * The streaming proxy between runtimes and model providers. A runtime authenticates with a turn's model token; the
 * gateway adds the provider key, enforces the workspace's token limits, and counts each call's tokens.
 */
export function createModelGateway({ config, calls, metrics, logger }: ModelGatewayDeps): ModelGateway {
  const closing = new AbortController();
  const client = createProviderClient(config.proxy);
  const limiter = createWorkspaceLimiter(config.limits);
  const settlements = createSettlements({ calls, logger, onLost: metrics.settlementLost });
  metrics.watchPending(settlements.pending);
  const running = new Set<Promise<void>>();
  const runCall = createModelCalls({
    config,
    calls,
    settlements,
    send: createSendCall(client),
    memory: createRequestMemory(),
    metrics,
    logger,
    closing: closing.signal,
  });

  const transcribe = createTranscribe({
    config: config.transcription,
    provider: client,
    calls,
    settlements,
    metrics,
    logger,
    closing: closing.signal,
  });

  /** @throws GatewayError */
  async function authenticate(
    protocol: Protocol,
    { headers }: IncomingMessage,
    purposes: readonly ModelTokenTurn['purpose'][],
  ): Promise<ModelTokenTurn> {
    try {
      const turn = await verifyModelToken(config.tokenKeys, protocol.tokenOf(headers) ?? '');
      if (purposes.includes(turn.purpose)) return turn;
      throw new Error(`the token is for ${turn.purpose}`);
    } catch (cause) {
      throw new GatewayError('token_invalid', 'A valid model token is required.', { cause });
    }
  }

  /** For the orchestrator, which has the recordings. */
  async function serveRecording(request: IncomingMessage, response: ServerResponse): Promise<CallResult> {
    const turn = await authenticate(openai, request, ['transcription']);
    const end = limiter.begin(turn.workspaceId);
    try {
      const attributes = { 'gen_ai.operation.name': 'transcription', 'gen_ai.provider.name': TRANSCRIPTION_PROVIDER };
      await inSpan('transcription', { ...originOf(turn, request), attributes }, () =>
        transcribe(turn, { request, response }),
      );
      return 'completed';
    } finally {
      end();
    }
  }

  async function serve(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<CallResult> {
    const turn = await authenticate(provider.protocol, request, ['turn', 'summary']);
    const end = limiter.begin(turn.workspaceId);
    try {
      const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': provider.name };
      return await inSpan('chat', { ...originOf(turn, request), attributes }, (span) =>
        runCall(provider, turn, { request, response, span }),
      );
    } finally {
      end();
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.method === 'POST' ? request.url?.split('?')[0] : undefined;
    const provider = PROVIDERS.find(({ route }) => route === path);
    if (path === TRANSCRIPTIONS_PATH) {
      await answer(request, response, {
        name: TRANSCRIPTION_PROVIDER,
        protocol: openai,
        serve: () => serveRecording(request, response),
      });
    } else if (provider === undefined) {
      sendError(request, response, openai, new GatewayError('route_not_found', 'Route not found.'));
      metrics.ended('none', 'route_not_found');
    } else await answer(request, response, { ...provider, serve: () => serve(provider, request, response) });
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    call: Pick<Provider, 'name' | 'protocol'> & { serve: () => Promise<CallResult> },
  ): Promise<void> {
    let result: CallResult;
    try {
      result = await call.serve();
    } catch (error) {
      result = resultOf(error, request);
      if (LOGGED.has(result)) logger.error({ err: error, result, provider: call.name }, 'a model call failed');
      if (error instanceof GatewayError && !response.headersSent) sendError(request, response, call.protocol, error);
      else response.destroy();
    }
    metrics.ended(call.name, result);
  }

  return {
    handler(request, response) {
      const handling = handle(request, response).finally(() => running.delete(handling));
      running.add(handling);
    },
    async close() {
      closing.abort();
      await Promise.all(running);
      await settlements.close(SETTLE_MS);
      await client.close();
    },
  };
}

/**
 * A call belongs to the trace that the orchestrator signed for its turn. A runtime's own headers only lead to a link: it runs
 * untrusted code.
 */
const originOf = ({ traceparent }: ModelTokenTurn, { headers }: IncomingMessage) => ({
  kind: 'client' as const,
  client: headers,
  ...(traceparent === undefined ? {} : { parent: { traceparent } }),
});

/** A request that its client aborted is cut. */
function resultOf(error: unknown, request: IncomingMessage): CallResult {
  if (error instanceof GatewayError) return error.code;
  return error instanceof CallCut || !request.complete ? 'cut' : 'internal_error';
}

/** Failures that operators must know about. */
const LOGGED: ReadonlySet<CallResult> = new Set([
  'internal_error',
  'orchestrator_unavailable',
  'provider_credentials_rejected',
  'provider_credit_exhausted',
  'provider_failed',
  'provider_redirected',
  'provider_unreachable',
]);

function sendError(request: IncomingMessage, response: ServerResponse, protocol: Protocol, error: GatewayError): void {
  // The rest of the request is discarded: a client that still writes could miss the response on a closed connection.
  request.resume();
  response
    .writeHead(error.status, {
      'content-type': 'application/json',
      ...(error.retryAfterS === undefined ? {} : { 'retry-after': String(error.retryAfterS) }),
    })
    .end(JSON.stringify(protocol.errorBody(error)));
}
