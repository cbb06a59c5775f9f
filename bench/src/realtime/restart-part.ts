import { atMost, type Goal } from '../report/goals.js';
import { measureDeadGateway, measureDeadPeer, measureRollingRestart, type Restart } from './measure-restarts.js';
import type { PartResult, RealtimePart } from './part.js';
import { startRealtimeWorld } from './realtime-world.js';

const SOCKETS = { full: { dead: 10_000, rolling: 2_000 }, small: { dead: 60, rolling: 60 } };
const GOALS = { allBackS: 60, statements: 1, outageS: 10 };

export interface RestartFigures {
  dead: Restart;
  rolling: Restart;
  peer: Restart;
}

const none = (name: string, count: number): Goal => [`${name}: 0`, String(count), count === 0];
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

export function restartResult({ dead, rolling, peer }: RestartFigures): PartResult {
  return {
    heads: ['sockets', 'outage p50', 'p99', 'max', 'all back', 'statements per socket'],
    rows: [dead, rolling, peer].map(({ name, sockets, outage, allBackMs, statementsPerSocket }) => [
      `${sockets}, ${name}`,
      ...[outage.p50, outage.p99, outage.max, allBackMs].map(seconds),
      statementsPerSocket?.toFixed(2) ?? '-',
    ]),
    goals: [
      atMost('killed gateway: all sockets back', dead.allBackMs / 1_000, GOALS.allBackS, 's'),
      atMost('killed gateway: statements per socket', dead.statementsPerSocket ?? Number.NaN, GOALS.statements, ''),
      none('killed gateway: sockets lost', dead.lost),
      none('rolling restart: sockets lost', rolling.lost),
      none('rolling restart: workspaces with a missing event', rolling.behind),
      atMost('rolling restart: outage of a socket, max', rolling.outage.max / 1_000, GOALS.outageS, 's'),
    ],
    figures: { dead, rolling, peer },
  };
}

/** Sockets on gateways that end. The clients reconnect as default clients do, after one to five seconds. */
export const restartPart: RealtimePart = {
  name: 'restart',
  title: 'Killed and restarted gateways, beside bare socket.io',
  async measure({ folder, small, stack, say }) {
    const sockets = small ? SOCKETS.small : SOCKETS.full;
    const options = { folder, users: sockets.dead, longEvents: 10, workspacesPerUser: 1 };
    const world = await startRealtimeWorld(options, stack);
    const dead = await measureDeadGateway(world, sockets.dead, say);
    say(`killed gateway: all back after ${seconds(dead.allBackMs)}, lost ${dead.lost}, behind ${dead.behind}`);
    const rolling = await measureRollingRestart(world, sockets.rolling);
    say(
      `rolling restart: outage at most ${seconds(rolling.outage.max)}, lost ${rolling.lost}, behind ${rolling.behind}`,
    );
    return restartResult({ dead, rolling, peer: await measureDeadPeer(world, sockets.dead) });
  },
};
