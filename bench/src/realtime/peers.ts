import { fork } from 'node:child_process';
import type { CloseStack } from '@uswarm/service-kit';
import { answerOf, ended, endWithThisProcess, program } from '../world/processes.js';

export const PEERS = ['socket.io', 'ws'] as const;
export type Peer = (typeof PEERS)[number];

/** Starts a bare server. */
export async function startPeer(
  peer: Peer,
  redisUrl: string,
  stack: CloseStack,
): Promise<{ url: string; pid: number }> {
  const execArgv = ['--expose-gc', '--import', program('../realtime/collect-on-signal.js')];
  const child = fork(program('../realtime/peers-main.js'), [peer, redisUrl], { execArgv });
  endWithThisProcess(child);
  stack.defer(peer, () => ended(child, 'SIGKILL'));
  return { ...(await answerOf<{ url: string }>(child)), pid: child.pid ?? 0 };
}
