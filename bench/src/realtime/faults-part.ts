import { latencyOf } from '../load/percentiles.js';
import { atMost } from '../report/goals.js';
import { type LostEvents, measureLostEvents } from './measure-lost-events.js';
import { type PartResult, type RealtimePart, secondsOf } from './part.js';
import { startRealtimeWorld } from './realtime-world.js';

const FULL = { users: 20, rounds: 4 };
const SMALL = { users: 4, rounds: 1 };
const GOAL_S = 15;

export function faultsResult(lost: LostEvents): PartResult {
  const [last, followed] = [latencyOf(lost.last), latencyOf(lost.followed)];
  return {
    heads: ['from', 'p50', 'max'],
    rows: [
      ['the commit of a lost event, the last one, to its arrival', secondsOf(last.p50), secondsOf(last.max)],
      ['the commit of the event after a lost one to both', secondsOf(followed.p50), secondsOf(followed.max)],
    ],
    goals: [
      atMost('lost last event found, max', last.max / 1_000, GOAL_S, 's'),
      atMost('lost event found when the next one arrives, max', followed.max / 1_000, GOAL_S, 's'),
    ],
    figures: { last, followed },
  };
}

/** Messages that the bus loses. */
export const faultsPart: RealtimePart = {
  name: 'faults',
  title: 'Lost bus messages',
  async measure({ folder, small, stack }) {
    const { users, rounds } = small ? SMALL : FULL;
    const world = await startRealtimeWorld({ folder, users, longEvents: 10, workspacesPerUser: 1 }, stack);
    return faultsResult(await measureLostEvents(world, users, rounds));
  },
};
