import { setTimeout as sleep } from 'node:timers/promises';
import type { SyncRequest, SyncResponse } from '@uswarm/contract/userswarm';
import { parseJson, startDeadline } from '@uswarm/service-kit';
import type { Dispatcher } from 'undici';
import { createConnections } from './connections.js';
import { HookBusy, HookError, type HookOutcome, retryAfterSeconds } from './hook-error.js';
import { createOutage, OUTAGE_SHOWN_MS } from './outage.js';
import { createRevisionPin, versionOf, type WebhookVersion } from './revision-pin.js';
import { validateResponse } from './validate-response.js';

export interface Hook {
  /** @throws HookError, HookBusy */
  call(body: SyncRequest, signal: AbortSignal): Promise<SyncResponse>;
  close(): Promise<void>;
}

export interface HookOptions {
  url: string;
  token: string | undefined;
  timeoutMs: number;
  /** Milliseconds without a usable response after which only probes are sent. */
  outageMs?: number;
  /** Milliseconds without a response after which the newest revision is abandoned. */
  revisionGoneMs?: number;
  onAnswer?: (outcome: HookOutcome, seconds: number) => void;
}

/** Maximum response bytes. A valid one has three objects and a status. */
const MAX_ANSWER = 4 * 1_024 * 1_024;

/**
 * Connect timeout in milliseconds. With a NetworkPolicy, packets to a Service without endpoints may be dropped and not
 * rejected, which would delay the WebhookUnavailable reason.
 */
const CONNECT_MS = 2_000;
/** Additional connections that are tried immediately if an older revision responds, and the pause between later ones in ms. */
const FAST_SEARCHES = 4;
const SEARCH_PAUSE_MS = 200;

interface Answer {
  status: number;
  text: string;
  contentType: string | undefined;
  retryAfterS: number | undefined;
  version: WebhookVersion;
  accepted: boolean;
}

/** Calls the sync hook of Metacontroller's CompositeController, version v1. */
export function createHook(options: HookOptions): Hook {
  const { onAnswer = () => {}, outageMs = OUTAGE_SHOWN_MS, revisionGoneMs } = options;
  const pin = createRevisionPin(revisionGoneMs === undefined ? {} : { goneAfterMs: revisionGoneMs });
  const post = createPost(options, ({ status, version }) => status === 429 || (status === 200 && pin.accepts(version)));
  const outage = createOutage({ longMs: outageMs });
  let last = new HookError('unreachable', 'the webhook is unreachable');

  const once = async (body: string, fresh: boolean, signal: AbortSignal): Promise<SyncResponse | undefined> => {
    const answer = await post.send(body, fresh, signal);
    if (answer.status === 429) throw new HookBusy(answer.retryAfterS);
    if (answer.status !== 200) throw new HookError('refused', `the webhook returned HTTP ${answer.status}`);
    if (!answer.accepted) return undefined;
    if (!isJson(answer.contentType)) {
      throw new HookError(
        'invalid',
        `the webhook returned an invalid response: its content type is ${answer.contentType}`,
      );
    }
    const result = validateResponse(parseJson(answer.text));
    if ('problem' in result)
      throw new HookError('invalid', `the webhook returned an invalid response: ${result.problem}`);
    return result.answer;
  };
  const ask = async (body: string, signal: AbortSignal): Promise<SyncResponse> => {
    let failed = false;
    for (let attempt = 0; ; attempt += 1) {
      if (attempt > FAST_SEARCHES) await sleep(SEARCH_PAUSE_MS, undefined, { signal });
      try {
        const answer = await once(body, attempt > 0, signal);
        if (answer !== undefined) return answer;
      } catch (error) {
        // Retried once on another connection, because a terminating pod closes its connections. Not after a timeout,
        // which has already blocked a worker.
        if (!(error instanceof HookError) || failed || error.outcome === 'timeout' || error.outcome === 'busy') {
          throw error;
        }
        failed = true;
      }
    }
  };
  return {
    async call(body, signal) {
      const start = performance.now();
      const done = (outcome: HookOutcome): void => onAnswer(outcome, (performance.now() - start) / 1_000);
      const fail = (error: HookError): HookError => {
        error.outageMs = outage.lastedMs();
        return error;
      };
      // Only missing responses block workers.
      const silent = last.outcome === 'unreachable' || last.outcome === 'timeout';
      if (silent && !outage.mayCall()) throw fail(new HookError(last.outcome, last.message));
      try {
        const answer = await ask(JSON.stringify(body), signal);
        outage.answered();
        done('ok');
        return answer;
      } catch (error) {
        if (signal.aborted || !(error instanceof HookError)) throw error;
        done(error.outcome);
        if (error instanceof HookBusy) {
          outage.answered();
          throw error;
        }
        last = error;
        outage.failed(start);
        throw fail(error);
      }
    },
    close: () => post.close(),
  };
}

interface Post {
  /** Sends one request. @throws HookError if the response is missing or incomplete */
  send(body: string, fresh: boolean, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

/** @param accepts whether to reuse the connection to the process that responded */
function createPost(
  { url, token, timeoutMs }: HookOptions,
  accepts: (answer: Pick<Answer, 'status' | 'version'>) => boolean,
): Post {
  const { origin, pathname, search } = new URL(url);
  const connections = createConnections(origin, Math.min(timeoutMs, CONNECT_MS));
  const call: Dispatcher.RequestOptions = {
    method: 'POST',
    path: pathname + search,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  };
  return {
    async send(body, fresh, signal) {
      const deadline = startDeadline(timeoutMs, signal);
      const client = connections.take(fresh);
      try {
        const given = await client.request({ ...call, body, signal: deadline.signal });
        const { statusCode: status, headers } = given;
        const text = await readText(given.body, Number(headers['content-length'] ?? 0));
        const version = versionOf(headers);
        const contentType = [headers['content-type']].flat()[0];
        const accepted = accepts({ status, version });
        if (accepted) connections.giveBack(client);
        else connections.drop(client);
        return {
          status,
          text,
          contentType,
          version,
          accepted,
          retryAfterS: retryAfterSeconds(headers['retry-after'], Date.now()),
        };
      } catch (cause) {
        connections.drop(client);
        if (cause instanceof HookError) throw cause;
        if (signal.aborted) throw signal.reason;
        if (deadline.expired()) {
          throw new HookError('timeout', `the webhook did not respond within ${timeoutMs} ms`, cause);
        }
        const code = codeOf(cause);
        // Bytes arrived, but not HTTP: for example TLS at a plain port.
        if (/^HPE_|^HTTPParserError$/.test(code)) {
          throw new HookError('invalid', 'the response of the webhook is not HTTP', cause);
        }
        throw new HookError('unreachable', `the webhook is unreachable (${code})`, cause);
      } finally {
        deadline.end();
      }
    },
    close: () => connections.close(),
  };
}

/** True if the body may be JSON. A missing type is accepted, as Metacontroller does. */
const isJson = (contentType: string | undefined): boolean =>
  contentType === undefined || /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType.trim());

async function readText(body: AsyncIterable<Uint8Array>, announced: number): Promise<string> {
  const tooLarge = () => new HookError('invalid', `the response of the webhook exceeds ${MAX_ANSWER} bytes`);
  if (announced > MAX_ANSWER) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The error code. Messages about the same fault differ and would make the condition flap. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return String(code ?? name);
}
