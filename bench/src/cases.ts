import type { Pace } from './load/job.js';

/** One thing that is measured, on both sides. */
export interface Case {
  name: string;
  shots: 'history' | 'search' | 'send';
  pace: Pace;
}

const open = (perSecond: number): Pace => ({ kind: 'open', perSecond });
const closed: Pace = { kind: 'closed' };

/** `<what>@<rate>`: latencies at a rate that is the same for both sides. `<what>-most`: as many as there can be. */
export const CASES: readonly Case[] = [
  { name: 'history@100', shots: 'history', pace: open(100) },
  { name: 'history-most', shots: 'history', pace: closed },
  { name: 'search@20', shots: 'search', pace: open(20) },
  { name: 'search-most', shots: 'search', pace: closed },
  { name: 'send@300', shots: 'send', pace: open(300) },
  { name: 'send@500', shots: 'send', pace: open(500) },
  { name: 'send-most', shots: 'send', pace: closed },
];
