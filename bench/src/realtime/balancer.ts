import type { CloseStack } from '@uswarm/service-kit';
import { startTapProxy } from './tap-proxy.js';

/** In place of the load balancer in front of gateways: new connections go to the targets in turn. */
export interface Balancer {
  url: string;
  /** The servers that are ready. */
  use(...targets: readonly string[]): void;
}

export async function startBalancer(stack: CloseStack): Promise<Balancer> {
  let targets: readonly string[] = [];
  let connections = 0;
  const host = await startTapProxy(
    () => {
      connections += 1;
      return targets[connections % targets.length];
    },
    () => ({}),
    stack,
  );
  return { url: `http://${host}`, use: (...ready) => void (targets = ready) };
}
