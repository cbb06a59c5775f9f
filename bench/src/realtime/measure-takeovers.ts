import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from '../settings.js';
import { monotonicMs } from '../turns/observations.js';
import { messageOf } from '../turns/plan.js';
import type { Side } from '../world/processes.js';
import { UswarmClient } from './clients/uswarm-client.js';
import type { TurnCluster } from './turn-cluster.js';

export interface Takeover {
  signal: 'SIGKILL' | 'SIGSTOP';
  /** Milliseconds from the signal to the next text at the socket. */
  ms: number;
  modelCalls: number;
}

/** Time for which text arrives before the signal. */
const STREAMED_MS = 3_000;
const LOOK_MS = 20;
const WITHIN_MS = 60_000;
/** An answer of 25 seconds. */
const ANSWER = { chunks: 1_250, paceMs: 20 };

/** Received by the client. */
interface Texts {
  /** Time at which the last text arrived. */
  at: number;
  length: number;
}

/** A turn streams; the orchestrator that runs it is killed or stopped. @param holder the only orchestrator with workers; another one is started */
export async function measureTakeover(
  cluster: TurnCluster,
  holder: Side,
  signal: Takeover['signal'],
  id: string,
): Promise<{ takeover: Takeover; next: Side }> {
  const texts: Texts = { at: 0, length: 0 };
  const client = new UswarmClient(
    cluster.spec,
    () => undefined,
    (chunk) => {
      texts.at = monotonicMs();
      texts.length += chunk.length;
    },
  );
  await client.open();
  const plan = { id, calls: 0, tool: 'remember' as const, stalls: false, ...ANSWER };
  const sent = await cluster.user.send(cluster.user.conversations[0] ?? '', messageOf(plan));
  await cluster.observations.saw('asked', id);
  await sleep(STREAMED_MS);
  if (texts.length === 0) throw new BenchError('No text arrived before the takeover.');
  const next = await cluster.startWorker();
  process.kill(holder.pid, signal);
  const from = monotonicMs();
  // Earlier packets still arrive.
  await sleep(1_000);
  const { length } = texts;
  while (texts.length === length) {
    if (monotonicMs() - from > WITHIN_MS) throw new BenchError('No orchestrator took the turn over.');
    await sleep(LOOK_MS);
  }
  const ms = texts.at - from;
  await cluster.completed(sent);
  if (signal === 'SIGSTOP') process.kill(holder.pid, 'SIGCONT');
  client.close();
  const modelCalls = cluster.observations.all.filter((each) => each.what === 'asked' && each.turn === id).length;
  return { takeover: { signal, ms, modelCalls }, next };
}
