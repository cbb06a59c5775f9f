import { latencyOf } from '../load/percentiles.js';
import { atMost, type Goal } from '../report/goals.js';
import { measureTakeover, type Takeover } from './measure-takeovers.js';
import { type PartResult, type RealtimePart, secondsOf } from './part.js';
import { startTurnCluster } from './turn-cluster.js';

const ROUNDS = { full: 2, small: 1 };
const GOAL_S = 15;
const SIGNALS = ['SIGKILL', 'SIGSTOP'] as const;

export function takeoverResult(takeovers: readonly Takeover[]): PartResult {
  const measured = SIGNALS.map((signal) => {
    const times = takeovers.filter((each) => each.signal === signal).map(({ ms }) => ms);
    return { signal, latency: latencyOf(times) };
  });
  const calls = Math.max(...takeovers.map(({ modelCalls }) => modelCalls));
  const once: Goal = ['model calls of a turn that was taken over: 1', String(calls), calls === 1];
  return {
    heads: ['from the signal to the next text at the socket', 'p50', 'max'],
    rows: measured.map(({ signal, latency }) => [signal, secondsOf(latency.p50), secondsOf(latency.max)]),
    goals: [
      ...measured.map(({ signal, latency }) =>
        atMost(`takeover after ${signal}, max`, latency.max / 1_000, GOAL_S, 's'),
      ),
      once,
    ],
    figures: takeovers,
  };
}

/** Orchestrators that end or hang while they run a turn. */
export const takeoverPart: RealtimePart = {
  name: 'takeover',
  title: 'Turns that another orchestrator takes over',
  async measure({ folder, small, stack, say }) {
    const cluster = await startTurnCluster({ folder, turnWorkers: 0, conversations: 1 }, stack);
    const takeovers: Takeover[] = [];
    let holder = await cluster.startWorker();
    for (let n = 0; n < SIGNALS.length * (small ? ROUNDS.small : ROUNDS.full); n += 1) {
      const signal = n % 2 === 0 ? SIGNALS[0] : SIGNALS[1];
      const { takeover, next } = await measureTakeover(cluster, holder, signal, `takeover-${n}`);
      say(`${signal}: next text after ${secondsOf(takeover.ms)}, model calls: ${takeover.modelCalls}`);
      await holder.close();
      holder = next;
      takeovers.push(takeover);
    }
    return takeoverResult(takeovers);
  },
};
