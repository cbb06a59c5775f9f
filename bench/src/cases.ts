import type { RateSchedule } from './load/job.js';

/** A case is measured on both sides. */
export interface Case {
  name: string;
  requests: 'history' | 'search' | 'send';
  schedule: RateSchedule;
}

const open = (perSecond: number): RateSchedule => ({ kind: 'open', perSecond });
const closed: RateSchedule = { kind: 'closed' };

/** `<what>@<rate>`: latencies at a fixed rate. `<what>-most`: maximum throughput. */
export const CASES: readonly Case[] = [
  { name: 'history@100', requests: 'history', schedule: open(100) },
  { name: 'history-most', requests: 'history', schedule: closed },
  { name: 'search@20', requests: 'search', schedule: open(20) },
  { name: 'search-most', requests: 'search', schedule: closed },
  { name: 'send@300', requests: 'send', schedule: open(300) },
  { name: 'send@500', requests: 'send', schedule: open(500) },
  { name: 'send-most', requests: 'send', schedule: closed },
];
