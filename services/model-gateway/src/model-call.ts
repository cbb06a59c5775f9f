import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelCallReservation, ModelCallTerms, ModelCallUsage } from '@uswarm/contract';
import {
  estimateRequestTokens,
  type ImagelessRequest,
  type Logger,
  type ModelTokenTurn,
  parseJson,
  type Span,
  startDeadline,
  TOKENS_IN_FLIGHT,
  withoutImageData,
} from '@uswarm/service-kit';
import { describeCall, describeEnd } from './call-span.js';
import type { ModelGatewayConfig, ProviderConfig } from './config.js';
import { GatewayError } from './gateway-error.js';
import type { CallResult, ModelGatewayMetrics } from './metrics.js';
import type { ModelCallClient } from './model-call-client.js';
import { allowedModel, pricedModel } from './model-names.js';
import { CallCut } from './provider-client.js';
import type { Body } from './protocols/protocol.js';
import type { Provider } from './providers.js';
import { relay } from './relay.js';
import { declaredBytes, readBody } from './request-body.js';
import type { RequestMemory } from './request-memory.js';
import { createResponseMeter } from './response-meter.js';
import type { SendCall, SentResponse } from './send-call.js';
import { REFUSED, type Settlements } from './settlements.js';

export interface ModelCallDeps {
  config: Pick<ModelGatewayConfig, 'providers' | 'outputLimit'>;
  calls: Pick<ModelCallClient, 'reserve'>;
  settlements: Pick<Settlements, 'settle' | 'release'>;
  send: SendCall;
  memory: RequestMemory;
  metrics: Pick<ModelGatewayMetrics, 'measured' | 'firstByte' | 'retried'>;
  logger: Pick<Logger, 'info'>;
  /** Aborts running calls at shutdown. */
  closing: AbortSignal;
}

/** Longer than a runtime's longest step. */
const CALL_MS = 15 * 60_000;
/** For reservations; a better estimate would delay each call. */
const RESERVED_BYTES_PER_TOKEN = 3;
/** Clients count their repetitions here, as the OpenAI and Anthropic clients do. */
const RETRY_COUNT_HEADER = 'x-stainless-retry-count';
/** An unavailable orchestrator delays a response's end by at most this time. */
const SETTLE_WAIT_MS = 1_000;

/** An accepted request, before its reservation. */
interface Call {
  id: string;
  turn: ModelTokenTurn;
  provider: Provider;
  settings: ProviderConfig;
  /** For the estimate of its tokens. */
  request: ImagelessRequest;
  requestedModel: string;
  /** The name at the provider. */
  model: string;
  maxOutputTokens: number;
  promptEstimate: number;
  startedAt: number;
  span: Span;
}

interface ReservedCall extends Call {
  terms: ModelCallTerms;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  span: Span;
}

/** Runs one model call in an authenticated turn: reserve, forward, meter, settle. @throws GatewayError, CallCut */
export type RunModelCall = (provider: Provider, turn: ModelTokenTurn, exchange: Exchange) => Promise<CallResult>;

export function createModelCalls(deps: ModelCallDeps): RunModelCall {
  const { config, calls, settlements, send, memory, metrics, logger } = deps;

  /** @throws GatewayError */
  async function accept(
    provider: Provider,
    turn: ModelTokenTurn,
    { request, span }: Pick<Exchange, 'request' | 'span'>,
  ): Promise<{ call: Call; body: Body }> {
    const settings = config.providers[provider.name];
    if (settings === undefined) {
      throw new GatewayError('model_not_allowed', `The provider ${provider.name} is not configured.`);
    }
    const startedAt = performance.now();
    const text = await readBody(request);
    const body = parseJson(text) as Body;
    const asked = provider.protocol.readRequest(body);
    const imageless = withoutImageData(body);
    const call = {
      id: randomUUID(),
      turn,
      provider,
      settings,
      request: imageless,
      requestedModel: pricedModel(asked.model, settings.models),
      model: allowedModel(asked.model, settings.models),
      maxOutputTokens: Math.min(asked.maxOutputTokens ?? config.outputLimit, config.outputLimit),
      promptEstimate: reservedTokens(imageless, Buffer.byteLength(text)),
      startedAt,
      span,
    };
    describeCall(span, { ...call, turnId: turn.turnId });
    if (Number(request.headers[RETRY_COUNT_HEADER]) > 0) metrics.retried(provider.name);
    return { call, body };
  }

  /** @throws GatewayError */
  async function reserve(call: Call): Promise<ReservedCall> {
    const { turn } = call;
    const reservation: ModelCallReservation = {
      id: call.id,
      workspace_id: turn.workspaceId,
      turn_id: turn.turnId,
      agent_id: turn.agentId,
      purpose: turn.purpose,
      provider: call.provider.name,
      model: call.model,
      requested_model: call.requestedModel,
      estimated_prompt_tokens: call.promptEstimate,
      max_output_tokens: call.maxOutputTokens,
    };
    try {
      return { ...call, terms: await calls.reserve(reservation) };
    } catch (error) {
      if (error instanceof GatewayError && error.outcomeUnknown) settlements.release(call.id);
      throw error;
    }
  }

  /** Settles once, and waits for it only for a short time. */
  async function settle(call: ReservedCall, usage: ModelCallUsage, error: string): Promise<void> {
    const { id, turn, provider, model, startedAt, terms } = call;
    const seconds = (performance.now() - startedAt) / 1_000;
    const counted = usage.outcome !== 'refused';
    metrics.measured({
      provider: provider.name,
      model,
      seconds,
      error,
      usage: counted ? usage : undefined,
      terms,
    });
    describeEnd(call.span, usage, error);
    logger.info(
      {
        call: id,
        workspace_id: turn.workspaceId,
        turn_id: turn.turnId,
        provider: provider.name,
        model,
        ...usage,
        error,
        ms: Math.round(seconds * 1_000),
      },
      'model call',
    );
    await Promise.race([settlements.settle(id, usage), sleep(SETTLE_WAIT_MS, undefined, { ref: false })]);
  }

  /** Sends a reserved call. A call that fails before its response is settled here. @throws GatewayError, CallCut */
  async function sendReserved(
    call: ReservedCall,
    body: Body,
    { request, response }: Pick<Exchange, 'request' | 'response'>,
    signal: AbortSignal,
  ): Promise<SentResponse> {
    if (signal.aborted) {
      await settle(call, REFUSED, 'cut');
      throw new CallCut('the call was cut before it was sent');
    }
    try {
      return await send(call.provider.protocol, call.settings, { ...call, body, headers: request.headers, signal });
    } catch (error) {
      const mayCount = error instanceof CallCut;
      await settle(
        call,
        mayCount ? cutBeforeResponse(call) : REFUSED,
        error instanceof GatewayError ? error.code : 'cut',
      );
      throw mayCount && !response.destroyed ? brokenBeforeResponse(error, signal) : error;
    }
  }

  /** Reads, reserves and sends a call. Its body is not needed after that, but it can have many megabytes of images. */
  async function forward(
    provider: Provider,
    turn: ModelTokenTurn,
    exchange: Exchange,
    signal: AbortSignal,
  ): Promise<{ call: ReservedCall; sent: SentResponse }> {
    const free = memory.hold(turn.workspaceId, declaredBytes(exchange.request));
    try {
      const { call: accepted, body } = await accept(provider, turn, exchange);
      const call = await reserve(accepted);
      return { call, sent: await sendReserved(call, body, exchange, signal) };
    } finally {
      free();
    }
  }

  /** Passes the response on and settles the call. */
  async function pass(call: ReservedCall, sent: SentResponse, response: ServerResponse, signal: AbortSignal) {
    const failed = sent.statusCode >= 400;
    const meter = createResponseMeter(call.provider.protocol);
    let first = true;
    let settled = false;
    const usageOf = (outcome: ModelCallUsage['outcome']): ModelCallUsage => ({
      ...meter.usage({ isCut: outcome === 'cut', estimatePrompt: () => estimatePrompt(call) }),
      outcome,
    });
    const settleWith = async (outcome: ModelCallUsage['outcome'], error: string): Promise<void> => {
      settled = true;
      await settle(call, outcome === 'refused' ? REFUSED : usageOf(outcome), error);
    };
    try {
      await relay(sent, response, {
        signal,
        onChunk(chunk) {
          if (first) metrics.firstByte({ ...labelsOf(call), seconds: (performance.now() - call.startedAt) / 1_000 });
          first = false;
          meter.push(chunk);
        },
        beforeEnd: () => settleWith(failed ? 'refused' : 'completed', failed ? String(sent.statusCode) : ''),
      });
      return failed ? 'provider_error' : 'completed';
    } catch {
      sent.body.on('error', () => undefined).destroy();
      // A cut response must not look complete.
      response.destroy();
      if (!settled) await settleWith(failed ? 'refused' : 'cut', 'cut');
      return 'cut';
    }
  }

  return async (provider, turn, exchange) => {
    const { response } = exchange;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const deadline = startDeadline(CALL_MS, deps.closing);
    try {
      // Both signals end with the call, so nothing refers to it afterwards.
      const signal = AbortSignal.any([gone.signal, deadline.signal]);
      const { call, sent } = await forward(provider, turn, exchange, signal);
      return await pass(call, sent, response, signal);
    } finally {
      deadline.end();
    }
  };
}

const reservedTokens = ({ images }: ImagelessRequest, bytes: number): number =>
  Math.ceil((bytes - images.characters) / RESERVED_BYTES_PER_TOKEN) + images.tokens;

const labelsOf = ({ provider, model }: Call) => ({ provider: provider.name, model });

const estimatePrompt = ({ request }: Call): number => estimateRequestTokens(request);

/** The provider may have processed the prompt. */
const cutBeforeResponse = (call: Call): ModelCallUsage => ({
  ...REFUSED,
  prompt_tokens: estimatePrompt(call),
  completion_tokens: TOKENS_IN_FLIGHT,
  estimated: true,
  outcome: 'cut',
});

function brokenBeforeResponse(cause: CallCut, signal: AbortSignal): GatewayError {
  const timedOut = (signal.reason as Error | undefined)?.name === 'TimeoutError';
  return timedOut
    ? new GatewayError('provider_timeout', 'The model provider did not respond in time.', { cause })
    : new GatewayError('provider_unreachable', 'The connection to the model provider broke.', { cause });
}
