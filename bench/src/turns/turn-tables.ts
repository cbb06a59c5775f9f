import { latencyOf } from '../load/percentiles.js';
import { atMost, type Goal, goalTable } from '../report/goals.js';
import type { DelegationFigures } from './measure-delegations.js';
import type { KillFigures, LoadFigures } from './measure-turns.js';

/** Times in milliseconds. */
export interface TurnFigures {
  steps: number[];
  stops: number[];
  /** From a runtime process's start until it listens. */
  starts: number[];
  kills: KillFigures;
  choices: number[];
  delegations: DelegationFigures;
  load: LoadFigures;
}

/** Design limits; times in milliseconds. */
const GOALS = { stepP50: 20, stepP99: 80, lagP99: 50, stop: 1_000, killBeyondStart: 3_000, choice: 1_000 };

const one = (value: number): string => value.toFixed(1);

/** Two Markdown tables: the measurements, and the goals. */
export function turnTables({ steps, stops, starts, kills, choices, delegations, load }: TurnFigures): string {
  const rows: [string, number[]][] = [
    ['step with a tool, without the time of the tool', steps],
    ['stop → connection of the model server closed', stops],
    ['start of a runtime process', starts],
    ['kill -9 → next model call', kills.times],
    ['choice → next model call', choices],
    ...delegations.overheads.map(({ tasks, times }): [string, number[]] => [
      `answer with ${tasks} ${tasks === 1 ? 'task' : 'tasks'} for sub-agents, without the time of the model`,
      times,
    ]),
  ];
  const step = latencyOf(steps);
  const start = latencyOf(starts).p50;
  const goals: Goal[] = [
    atMost('step with a tool over the time of the tool, p50', step.p50, GOALS.stepP50, 'ms'),
    atMost('step with a tool over the time of the tool, p99', step.p99, GOALS.stepP99, 'ms'),
    atMost(`event-loop lag of the orchestrator with ${load.turns} turns, p99`, load.lag.p99, GOALS.lagP99, 'ms'),
    atMost('stop → connection of the model server closed, max', latencyOf(stops).max, GOALS.stop, 'ms'),
    atMost(
      'kill -9 → next model call beyond the start of a runtime, max',
      latencyOf(kills.times).max - start,
      GOALS.killBeyondStart,
      'ms',
    ),
    [`completed steps repeated after ${kills.times.length} kills: 0`, String(kills.repeated), kills.repeated === 0],
    atMost('choice → next model call with a ready runtime, max', latencyOf(choices).max, GOALS.choice, 'ms'),
  ];
  const { lag, rate, orchestratorCores } = load;
  const { streaming } = delegations;
  return [
    '| milliseconds | samples | p50 | p95 | p99 | max |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...rows.map(([name, times]) => {
      const { p50, p95, p99, max } = latencyOf(times);
      return `| ${[name, times.length, ...[p50, p95, p99, max].map(one)].join(' | ')} |`;
    }),
    '',
    `With ${load.turns} turns the model server sent ${(rate * 100).toFixed(1)} % of 20 tokens per second and turn. The ` +
      `orchestrator used ${orchestratorCores.toFixed(2)} cores; its event-loop lag was ${one(lag.p50)} ms (p50), ` +
      `${one(lag.p99)} ms (p99) and ${one(lag.max)} ms (max).`,
    '',
    `A manager with ${streaming.tasks} sub-agents: they streamed ${(streaming.rate * 100).toFixed(1)} % of 20 tokens per second each. ` +
      `Their runtime used ${one(streaming.restMiB)} MiB before and at most ${one(streaming.peakMiB)} MiB.`,
    '',
    goalTable(goals),
  ].join('\n');
}
