import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ModelCallTerms,
  type ModelCallUsage,
  RECORDING_BYTES,
  RECORDING_SECONDS_HEADER,
  type Transcription,
} from '@uswarm/contract';
import type { ConnectedProvider } from '@uswarm/contract/providers';
import { type Logger, type ModelTokenTurn, startDeadline } from '@uswarm/service-kit';
import type { TranscriptionConfig } from '../config.js';
import { GatewayError } from '../gateway-error.js';
import type { ModelGatewayMetrics } from '../metrics.js';
import type { ModelCallClient } from '../model-call-client.js';
import { CallCut, type ProviderClient } from '../provider-client.js';
import { accepted, type SentResponse } from '../send-call.js';
import { REFUSED, type Settlements } from '../settlements.js';
import { audioTokens, estimatedUsage, readAnswer } from './answer.js';
import { multipart, recordingFile } from './form.js';

export interface TranscriptionDeps {
  /** Undefined: recordings are not transcribed. */
  config: TranscriptionConfig | undefined;
  provider: Pick<ProviderClient, 'sendForm'>;
  calls: Pick<ModelCallClient, 'reserve'>;
  settlements: Pick<Settlements, 'settle' | 'release'>;
  metrics: Pick<ModelGatewayMetrics, 'measured'>;
  logger: Pick<Logger, 'info'>;
  closing: AbortSignal;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Transcribes the recording in a request. @throws GatewayError, CallCut */
export type Transcribe = (turn: ModelTokenTurn, exchange: Exchange) => Promise<void>;

interface Call {
  id: string;
  turn: ModelTokenTurn;
  model: string;
  startedAt: number;
  terms: ModelCallTerms;
}

interface Outcome {
  usage: ModelCallUsage;
  text?: string;
  failure?: unknown;
}

/** The label of its metrics and usage: all such servers have OpenAI's protocol. */
export const TRANSCRIPTION_PROVIDER: ConnectedProvider = 'openai';

/** An hour of speech on a slow server. */
const CALL_MS = 10 * 60_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Speech has about three. */
const OUTPUT_TOKENS_PER_SECOND = 6;
const LEAST_OUTPUT_TOKENS = 100;
const MAX_SECONDS = 24 * 3_600;
/** An unavailable orchestrator delays a response's end by at most this time. */
const SETTLE_WAIT_MS = 1_000;
/** The server does not accept this recording. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const RETRY_AFTER_S = /^\d{1,6}$/;

interface Recording {
  bytes: number;
  type: string;
  seconds: number;
}

/** @throws GatewayError */
function recordingOf({ headers }: IncomingMessage): Recording {
  const bytes = Number(headers['content-length']);
  const seconds = Number(headers[RECORDING_SECONDS_HEADER]);
  if (!Number.isInteger(bytes) || bytes <= 0) throw new GatewayError('invalid_request', 'The recording has no length.');
  if (bytes > RECORDING_BYTES)
    throw new GatewayError('body_too_large', `The recording exceeds ${RECORDING_BYTES} bytes.`);
  return { bytes, type: headers['content-type'] ?? '', seconds: seconds >= 0 ? Math.min(seconds, MAX_SECONDS) : 0 };
}

async function readAll({ body }: SentResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new CallCut('the answer was cut', { cause });
  }
  return Buffer.concat(chunks).toString('utf8');
}

function failureOf({ statusCode, headers }: SentResponse): GatewayError {
  if (REFUSALS.has(statusCode)) return new GatewayError('recording_refused', 'The provider refused the recording.');
  const waits = headers['retry-after'];
  const options = typeof waits === 'string' && RETRY_AFTER_S.test(waits) ? { retryAfterS: Number(waits) } : {};
  return statusCode === 429
    ? new GatewayError('rate_limited', 'The provider limits requests.', options)
    : new GatewayError('provider_failed', `The provider answered with status ${statusCode}.`, options);
}

/** Sends recordings to the provider's `/audio/transcriptions`: reserve, send, count, settle. */
export function createTranscribe(deps: TranscriptionDeps): Transcribe {
  const { config, provider, calls, settlements, metrics, logger } = deps;

  async function reserve(id: string, turn: ModelTokenTurn, { model }: TranscriptionConfig, { seconds }: Recording) {
    try {
      return await calls.reserve({
        id,
        workspace_id: turn.workspaceId,
        turn_id: turn.turnId,
        agent_id: turn.agentId,
        purpose: turn.purpose,
        provider: TRANSCRIPTION_PROVIDER,
        model,
        requested_model: model,
        estimated_prompt_tokens: audioTokens(seconds),
        max_output_tokens: Math.max(LEAST_OUTPUT_TOKENS, Math.ceil(seconds * OUTPUT_TOKENS_PER_SECOND)),
      });
    } catch (error) {
      if (error instanceof GatewayError && error.outcomeUnknown) settlements.release(id);
      throw error;
    }
  }

  async function ask(server: TranscriptionConfig, recording: Recording, content: IncomingMessage, signal: AbortSignal) {
    const { bytes, type, seconds } = recording;
    const file = { ...recordingFile(type), bytes, content };
    const form = multipart({ fields: { model: server.model, response_format: 'json' }, file });
    const sent = await accepted(await provider.sendForm(server, { ...form, path: '/audio/transcriptions', signal }));
    if (sent.statusCode >= 300) {
      sent.body.on('error', () => undefined).destroy();
      throw failureOf(sent);
    }
    const answer = readAnswer(await readAll(sent), seconds);
    // Such as the page of a proxy.
    if (answer === undefined) throw new GatewayError('provider_failed', 'The provider sent no transcription.');
    return answer;
  }

  /** Sends a reserved recording. Never rejects. */
  async function outcomeOf(
    server: TranscriptionConfig,
    recording: Recording,
    { request, response }: Exchange,
  ): Promise<Outcome> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const deadline = startDeadline(CALL_MS, deps.closing);
    try {
      const signal = AbortSignal.any([gone.signal, deadline.signal]);
      const { text, usage } = await ask(server, recording, request, signal);
      if (text !== undefined) return { usage, text };
      return { usage, failure: new GatewayError('provider_failed', 'The provider sent no text.') };
    } catch (error) {
      if (!(error instanceof CallCut)) return { usage: REFUSED, failure: error };
      // The provider may have transcribed it.
      const usage: ModelCallUsage = { ...estimatedUsage(recording.seconds, ''), outcome: 'cut' };
      if (response.destroyed) return { usage, failure: error };
      const failure = deadline.expired()
        ? new GatewayError('provider_timeout', 'The model provider did not respond in time.', { cause: error })
        : new GatewayError('provider_unreachable', 'The connection to the model provider broke.', { cause: error });
      return { usage, failure };
    } finally {
      deadline.end();
    }
  }

  async function settle(call: Call, { usage, failure }: Outcome): Promise<void> {
    const { id, turn, model, startedAt, terms } = call;
    const seconds = (performance.now() - startedAt) / 1_000;
    const error = failure === undefined ? '' : failure instanceof GatewayError ? failure.code : 'cut';
    metrics.measured({
      operation: 'transcription',
      provider: TRANSCRIPTION_PROVIDER,
      model,
      seconds,
      error,
      usage: usage.outcome === 'refused' ? undefined : usage,
      terms,
    });
    const { workspaceId: workspace_id, turnId: turn_id } = turn;
    const ms = Math.round(seconds * 1_000);
    logger.info({ call: id, workspace_id, turn_id, model, ...usage, error, ms }, 'transcription');
    await Promise.race([settlements.settle(id, usage), sleep(SETTLE_WAIT_MS, undefined, { ref: false })]);
  }

  return async (turn, { request, response }) => {
    if (config === undefined) throw new GatewayError('model_not_allowed', 'No model for recordings is configured.');
    const recording = recordingOf(request);
    const id = randomUUID();
    const terms = await reserve(id, turn, config, recording);
    const startedAt = performance.now();
    const outcome = await outcomeOf(config, recording, { request, response });
    await settle({ id, turn, model: config.model, startedAt, terms }, outcome);
    if (outcome.failure !== undefined) throw outcome.failure;
    const body: Transcription = { text: outcome.text ?? '' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
}
