import type { Latency } from '../load/percentiles.js';
import { atMost, type Goal, goalTable } from '../report/goals.js';

export interface StartedRun {
  /** Since the time for which it ran. */
  delayS: number;
  /** Since its job was due. */
  lateS: number;
  /** That its schedule has sent. */
  messages: number;
}

export interface ScheduleFigures {
  schedules: number;
  orchestrators: number;
  spreadS: number;
  runs: number;
  messages: number;
  /** Schedules with another number of messages than one. */
  twice: number;
  /** Starts in a second. */
  perSecond: Latency;
  /** Milliseconds since their jobs were due. */
  late: Latency;
  lastS: number;
}

/** Tables with the goals. */
export function scheduleTable(figures: ScheduleFigures): string {
  const { schedules, spreadS, runs, twice, perSecond, late, lastS } = figures;
  const once: Goal = [
    'runs and messages per schedule = 1',
    `${runs} of ${schedules}, ${twice} others`,
    runs === schedules && twice === 0,
  ];
  const ms = (value: number): string => value.toFixed(0);
  return [
    goalTable([
      once,
      atMost('start after the job is due, p99', late.p99 / 1_000, 10, 's'),
      atMost('last start after the time', lastS, spreadS + 10, 's'),
      atMost('most starts in a second, compared with an even spread', perSecond.max / (schedules / spreadS), 2),
    ]),
    '',
    '| | p50 | p95 | p99 | max |',
    '| --- | ---: | ---: | ---: | ---: |',
    `| starts in a second | ${ms(perSecond.p50)} | ${ms(perSecond.p95)} | ${ms(perSecond.p99)} | ${ms(perSecond.max)} |`,
    `| start after the job is due (ms) | ${ms(late.p50)} | ${ms(late.p95)} | ${ms(late.p99)} | ${ms(late.max)} |`,
  ].join('\n');
}
