import { atMost } from '../report/goals.js';
import { measureStalledSocket, type StalledSocket } from './measure-stalled-socket.js';
import type { PartResult, RealtimePart } from './part.js';
import { PEERS } from './peers.js';
import { startRealtimeWorld } from './realtime-world.js';

const FULL = { sockets: 500, megabytes: 50, seconds: 16 };
const SMALL = { sockets: 20, megabytes: 2, seconds: 2 };
const GOALS = { mebibytes: 2, slower: 1.1 };

const ms = (value: number): string => `${value.toFixed(1)} ms`;

export function stalledResult(stalled: readonly StalledSocket[]): PartResult {
  return {
    heads: ['server', 'memory that a stalled socket adds', 'p99 of the others', 'without it'],
    rows: stalled.map(({ server, moreMiB, p99, usualP99 }) => [
      server,
      `${moreMiB.toFixed(1)} MiB`,
      ms(p99),
      ms(usualP99),
    ]),
    goals: stalled
      .filter(({ server }) => server === 'uswarm')
      .flatMap(({ moreMiB, p99, usualP99 }) => [
        atMost('memory that a stalled socket adds', moreMiB, GOALS.mebibytes, 'MiB'),
        atMost('p99 of the others beside a stalled socket', p99 / usualP99, GOALS.slower, '× without it'),
      ]),
    figures: stalled,
  };
}

/** Cost of one socket that does not read, for the server and the other sockets. */
export const stalledPart: RealtimePart = {
  name: 'stalled',
  title: `One stalled socket of ${FULL.sockets} while ${FULL.megabytes} MB of events pass, beside bare servers`,
  async measure({ folder, small, stack, say }) {
    const settings = small ? SMALL : FULL;
    const users = settings.sockets;
    const world = await startRealtimeWorld({ folder, users, longEvents: 10, workspacesPerUser: 1 }, stack);
    const stalled: StalledSocket[] = [];
    for (const server of ['uswarm', ...PEERS] as const) {
      const measured = await measureStalledSocket(world, server, settings);
      say(`${server}, one stalled socket: ${measured.moreMiB.toFixed(1)} MiB more`);
      stalled.push(measured);
    }
    return stalledResult(stalled);
  },
};
