import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { CloseStack } from '@uswarm/service-kit';
import { ended, endWithThisProcess, program } from '../world/processes.js';

/** Replaces a load balancer in front of gateways: new connections go to the targets in turn. */
export interface Balancer {
  /** The URL for a client. */
  urlOf(client: number): string;
  /** The servers that are ready. */
  use(...targets: readonly string[]): Promise<void>;
}

/** A process has two open files per connection, and their number is limited. */
const PROCESSES = 2;

export async function startBalancer(stack: CloseStack): Promise<Balancer> {
  const balancers = await Promise.all(Array.from({ length: PROCESSES }, () => startProcess(stack)));
  return {
    urlOf: (client) => balancers[client % PROCESSES]?.url ?? '',
    async use(...ready) {
      await Promise.all(
        balancers.map(async ({ child }) => {
          const used = once(child, 'message');
          child.send(ready);
          await used;
        }),
      );
    },
  };
}

async function startProcess(stack: CloseStack): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(program('../realtime/balancer-main.js'));
  endWithThisProcess(child);
  stack.defer('balancer', () => ended(child, 'SIGKILL'));
  const [host] = (await once(child, 'message')) as [string];
  return { child, url: `http://${host}` };
}
