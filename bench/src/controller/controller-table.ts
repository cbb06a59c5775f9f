import { atMost, goalTable } from '../report/goals.js';

/** The cost of one phase for all UserSwarms. */
export interface PhaseFigures {
  /** The controller's processor seconds. */
  cpuS: number;
  /** Seconds of garbage collection on its main thread. */
  collectionS: number;
  syncs: number;
  writes: number;
  seconds: number;
}

export interface ControllerFigures {
  swarms: number;
  peakMiB: number;
  phases: Record<'ready' | 'rest' | 'deleted', PhaseFigures>;
}

const CPU_GOAL_MS = 8;
/** The finalizer, three children and two statuses. */
const WRITES_GOAL = 6;

/** Markdown tables with figures and goals. */
export function controllerTable({ swarms, peakMiB, phases }: ControllerFigures): string {
  const rows = Object.entries(phases).map(([phase, { cpuS, collectionS, syncs, writes, seconds }]) => {
    const cells = [
      phase,
      cpuS.toFixed(2),
      ((cpuS / swarms) * 1_000).toFixed(2),
      ((cpuS / syncs) * 1_000).toFixed(2),
      collectionS.toFixed(2),
      (syncs / swarms).toFixed(2),
      (writes / swarms).toFixed(2),
      seconds.toFixed(1),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const { ready, rest } = phases;
  const goals = [
    atMost('CPU until Ready, per UserSwarm', (ready.cpuS / swarms) * 1_000, CPU_GOAL_MS, 'ms'),
    atMost('writes until Ready, per UserSwarm', ready.writes / swarms, WRITES_GOAL),
    atMost('writes at rest', rest.writes, 0),
  ];
  return [
    `${swarms} UserSwarms; controller memory at most ${peakMiB.toFixed(0)} MiB`,
    '',
    '| phase | CPU, s | CPU per UserSwarm, ms | CPU per sync, ms | GC, s | syncs each | writes each | seconds |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...rows,
    '',
    goalTable(goals),
  ].join('\n');
}
