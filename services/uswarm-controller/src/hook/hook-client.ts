import type { SyncRequest, SyncResponse } from '@uswarm/contract/userswarm';
import { parseJson } from '@uswarm/service-kit';
import { Agent, request } from 'undici';
import { validateAnswer } from './validate-answer.js';

/** The webhook did not answer, or not with something that can be used. Nothing may be changed because of it. */
export class HookError extends Error {
  override name = 'HookError';
  readonly outcome: HookOutcome;

  constructor(outcome: HookOutcome, message: string, cause?: unknown) {
    super(message, { cause });
    this.outcome = outcome;
  }
}

export const HOOK_OUTCOMES = ['ok', 'refused', 'timeout', 'unreachable', 'invalid'] as const;
export type HookOutcome = (typeof HOOK_OUTCOMES)[number];

export interface Hook {
  /** @throws HookError */
  call(body: SyncRequest, signal: AbortSignal): Promise<SyncResponse>;
  close(): Promise<void>;
}

export interface HookOptions {
  url: string;
  token: string | undefined;
  timeoutMs: number;
  onAnswer?: (outcome: HookOutcome, seconds: number) => void;
}

/** An answer is three objects and a status; more than this, in bytes, is not one. */
const MAX_ANSWER = 4 * 1_024 * 1_024;

/**
 * Milliseconds for a connection, which takes one or two. Where a NetworkPolicy is enforced, packets to a
 * Service without a pod may be dropped and not refused, and people wait for the reason to show.
 */
const CONNECT_MS = 2_000;

/** Calls the hook of Metacontroller's CompositeController, version v1. spec: supporting §4.2 */
export function createHook({ url, token, timeoutMs, onAnswer = () => {} }: HookOptions): Hook {
  const dispatcher = new Agent({ keepAliveTimeout: 10_000, connectTimeout: Math.min(timeoutMs, CONNECT_MS) });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const post = async (body: string, signal: AbortSignal): Promise<{ status: number; text: string }> => {
    const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal });
    return { status: answer.statusCode, text: await readText(answer.body) };
  };
  const ask = async (body: SyncRequest, signal: AbortSignal): Promise<SyncResponse> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    let answer: { status: number; text: string };
    try {
      answer = await post(JSON.stringify(body), AbortSignal.any([signal, deadline]));
    } catch (cause) {
      if (cause instanceof HookError) throw cause;
      if (signal.aborted) throw signal.reason;
      if (deadline.aborted) throw new HookError('timeout', `the webhook did not answer within ${timeoutMs} ms`, cause);
      throw new HookError('unreachable', `the webhook cannot be reached (${codeOf(cause)})`, cause);
    }
    if (answer.status !== 200) throw new HookError('refused', `the webhook answered ${answer.status}`);
    const result = validateAnswer(parseJson(answer.text));
    if ('problem' in result) throw new HookError('invalid', `the webhook's answer cannot be used: ${result.problem}`);
    return result.answer;
  };
  return {
    async call(body, signal) {
      const start = performance.now();
      const done = (outcome: HookOutcome): void => onAnswer(outcome, (performance.now() - start) / 1_000);
      try {
        const answer = await ask(body, signal);
        done('ok');
        return answer;
      } catch (error) {
        if (error instanceof HookError) done(error.outcome);
        throw error;
      }
    },
    close: () => dispatcher.destroy(),
  };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new HookError('invalid', `the webhook's answer is longer than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A code, not a message: messages of the same fault differ, and would make the condition flap. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return String(code ?? name);
}
