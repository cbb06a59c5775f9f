import type { Readable } from 'node:stream';
import { RECORDING_REFUSED, RECORDING_SECONDS_HEADER, Transcription, TRANSCRIPTIONS_PATH } from '@uswarm/contract';
import { parseJson, traceHeaders } from '@uswarm/service-kit';
import { createOutgoing, DIRECT } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import type { TranscriptionProblem } from './transcriptions.store.js';

export interface SentRecording {
  /** A model token for a transcription. */
  token: string;
  mimeType: string;
  size: number;
  /** Zero if it is unknown. */
  seconds: number;
  content: Readable;
}

export type TranscriptionOutcome =
  | { text: string }
  | { problem: TranscriptionProblem }
  /** The call can be repeated. */
  | { retryAfterMs: number | undefined };

export interface TranscriptionClient {
  /** @throws only the signal's reason */
  transcribe(recording: SentRecording, signal: AbortSignal): Promise<TranscriptionOutcome>;
  close(): Promise<void>;
}

/** An hour of speech takes a slow server some minutes. */
const CALL_MS = 5 * 60_000;

const ErrorBody = z.object({ error: z.object({ code: z.string() }) });

/** Codes of the gateway by what a repetition would change. */
const PROBLEMS: Readonly<Record<string, TranscriptionProblem>> = {
  [RECORDING_REFUSED]: 'refused',
  body_too_large: 'too_large',
  token_limit_reached: 'limit',
  turn_not_running: 'unavailable',
  model_not_allowed: 'unavailable',
  provider_credit_exhausted: 'unavailable',
  provider_credentials_rejected: 'unavailable',
  provider_redirected: 'unavailable',
};

function outcomeOf(status: number, retryAfter: unknown, text: string): TranscriptionOutcome {
  const body = parseJson(text);
  if (status === 200) {
    const { data } = Transcription.safeParse(body);
    return data ?? { retryAfterMs: undefined };
  }
  const problem = PROBLEMS[ErrorBody.safeParse(body).data?.error.code ?? ''];
  if (problem !== undefined) return { problem };
  return { retryAfterMs: Number(retryAfter) > 0 ? Number(retryAfter) * 1_000 : undefined };
}

/** @param url the model gateway's origin */
export function createTranscriptionClient(url: string, callMs = CALL_MS): TranscriptionClient {
  // The gateway belongs to the platform, and limits what it returns.
  const outgoing = createOutgoing(DIRECT, { headersTimeout: callMs, bodyTimeout: callMs });
  return {
    async transcribe({ token, mimeType, size, seconds, content }, signal) {
      try {
        const { statusCode, headers, body } = await outgoing.request(`${url}${TRANSCRIPTIONS_PATH}`, {
          method: 'POST',
          headers: {
            ...traceHeaders(),
            authorization: `Bearer ${token}`,
            'content-type': mimeType,
            'content-length': String(size),
            [RECORDING_SECONDS_HEADER]: String(seconds),
          },
          body: content,
          signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
        });
        return outcomeOf(statusCode, headers['retry-after'], await body.text());
      } catch {
        signal.throwIfAborted();
        return { retryAfterMs: undefined };
      }
    },
    close: () => outgoing.destroy(),
  };
}
