import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Job, Measured, RequestSample } from './job.js';
import { latencyOf } from './percentiles.js';

/** Signatures are valid for five minutes; the generator renews them earlier. */
const SIGNED_FOR_MS = 60_000;
const ANSWER_DEADLINE_MS = 30_000;

type Send = (request: RequestSample) => Promise<void>;

/** Credentials per user, with periodically renewed signatures. */
export function createSigner(
  tokens: readonly string[],
  signatureSecret: string,
): (user: number) => Record<string, string> {
  const signed = new Map<number, { at: number; headers: Record<string, string> }>();
  return (user) => {
    const now = Date.now();
    const known = signed.get(user);
    if (known !== undefined && now - known.at < SIGNED_FOR_MS) return known.headers;
    const token = tokens[user] ?? '';
    const timestamp = String(now);
    const signature = createHmac('sha256', signatureSecret).update(`${token}:${timestamp}`).digest('hex');
    const headers = { authorization: `Bearer ${token}`, 'x-timestamp': timestamp, 'x-signature': signature };
    signed.set(user, { at: now, headers });
    return headers;
  };
}

export function bodyOf(text: string, localId: string): string {
  return JSON.stringify({ local_id: localId, content: { type: 'text', text } });
}

function createSend(pool: Pool, job: Job, failed: (what: string) => void): Send {
  const credentials = createSigner(job.tokens, job.signatureSecret);
  return async ({ method, path, user, text }) => {
    const headers = { ...credentials(user), ...(text === undefined ? {} : { 'content-type': 'application/json' }) };
    const body = text === undefined ? null : bodyOf(text, randomUUID());
    try {
      const answer = await pool.request({ method, path, headers, body });
      await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
      if (answer.statusCode >= 300) failed(String(answer.statusCode));
    } catch (error) {
      failed((error as { code?: string }).code ?? String(error));
    }
  };
}

/** Counts requests between two points in time. */
interface Counting {
  begin(): void;
  /** @param from `performance.now()` when the request started or was due */
  answered(from: number): void;
}

/** Sends requests at their due times, even if earlier responses are outstanding. */
async function openLoop(job: Job, perSecond: number, send: Send, counting: Counting): Promise<void> {
  const warmUp = perSecond * job.warmUpSeconds;
  const all = warmUp + perSecond * job.seconds;
  const start = performance.now();
  const running: Promise<void>[] = [];
  for (let n = 0; n < all; n += 1) {
    const due = start + (n * 1_000) / perSecond;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    if (n === warmUp) counting.begin();
    const request = job.requests[n % job.requests.length];
    if (request === undefined) break;
    running.push(send(request).then(() => (n >= warmUp ? counting.answered(due) : undefined)));
  }
  await Promise.all(running);
}

async function closedLoop(job: Job, send: Send, counting: Counting): Promise<void> {
  const begin = performance.now() + job.warmUpSeconds * 1_000;
  const end = begin + job.seconds * 1_000;
  let next = 0;
  setTimeout(counting.begin, job.warmUpSeconds * 1_000);
  const client = async (): Promise<void> => {
    for (let from = performance.now(); from < end; from = performance.now()) {
      const request = job.requests[next % job.requests.length];
      next += 1;
      if (request === undefined) return;
      await send(request);
      if (from >= begin && performance.now() <= end) counting.answered(from);
    }
  };
  await Promise.all(Array.from({ length: job.connections }, client));
}

/** Sends the job's requests and measures them. */
export async function generateLoad(job: Job): Promise<Measured> {
  const pool = new Pool(job.url, {
    connections: job.connections,
    pipelining: 1,
    headersTimeout: ANSWER_DEADLINE_MS,
    bodyTimeout: ANSWER_DEADLINE_MS,
  });
  const samples: number[] = [];
  const failures: Record<string, number> = {};
  let began = { at: 0, cpu: process.cpuUsage() };
  const counting: Counting = {
    begin: () => void (began = { at: performance.now(), cpu: process.cpuUsage() }),
    answered: (from) => void samples.push(performance.now() - from),
  };
  const send = createSend(pool, job, (what) => void (failures[what] = (failures[what] ?? 0) + 1));
  await (job.schedule.kind === 'open'
    ? openLoop(job, job.schedule.perSecond, send, counting)
    : closedLoop(job, send, counting));
  const { user, system } = process.cpuUsage(began.cpu);
  const passed = (performance.now() - began.at) / 1_000;
  // Responses count until the measurement ends; an open schedule waits for the remaining ones.
  const seconds = job.schedule.kind === 'open' ? passed : job.seconds;
  await pool.close();
  return {
    requests: samples.length,
    perSecond: samples.length / seconds,
    latency: latencyOf(samples),
    failures,
    generatorCores: (user + system) / 1e6 / passed,
  };
}
