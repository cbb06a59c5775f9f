import { atMost } from '../report/goals.js';
import { type IdleSockets, measureIdleSockets } from './measure-idle-sockets.js';
import type { PartResult, RealtimePart } from './part.js';
import { PEERS } from './peers.js';
import { startRealtimeWorld } from './realtime-world.js';

const FULL = { sockets: 2_000, workspaces: [1, 5] };
const SMALL = { sockets: 100, workspaces: [1, 5] };
/** KiB per socket by the number of its workspaces. */
const GOALS = new Map([
  [1, 32],
  [5, 40],
]);

const kiB = (value: number): string => `${value.toFixed(1)} KiB`;

export function socketsResult(idle: readonly IdleSockets[]): PartResult {
  const goals = idle
    .filter(({ server }) => server === 'uswarm')
    .map(({ workspaces, collectedKiB }) =>
      atMost(
        `memory per idle socket, workspaces: ${workspaces}`,
        collectedKiB,
        GOALS.get(workspaces) ?? Number.NaN,
        'KiB',
      ),
    );
  return {
    heads: [
      'server, workspaces per socket',
      'memory per socket',
      'with garbage',
      'connected per s',
      'CPU per connect',
      'cores at rest per 10,000',
    ],
    rows: idle.map((each) => [
      `${each.server}, ${each.workspaces}`,
      kiB(each.collectedKiB),
      kiB(each.atRestKiB),
      each.perSecond.toFixed(0),
      `${each.cpuMs.toFixed(2)} ms`,
      each.restCores.toFixed(2),
    ]),
    goals,
    figures: idle,
  };
}

/** The memory of idle sockets. */
export const socketsPart: RealtimePart = {
  name: 'sockets',
  title: 'Idle sockets, beside bare servers',
  async measure({ folder, small, stack, say }) {
    const { sockets, workspaces } = small ? SMALL : FULL;
    const world = await startRealtimeWorld({ folder, users: sockets, longEvents: 10, workspacesPerUser: 5 }, stack);
    const idle: IdleSockets[] = [];
    for (const server of ['uswarm', ...PEERS] as const) {
      for (const count of workspaces) {
        const measured = await measureIdleSockets(world, server, { sockets, workspaces: count });
        say(`${server}, ${count} workspaces: ${kiB(measured.collectedKiB)} per socket`);
        idle.push(measured);
      }
    }
    return socketsResult(idle);
  },
};
