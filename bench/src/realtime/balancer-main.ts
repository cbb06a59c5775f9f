import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { startTapProxy } from './tap-proxy.js';

// Balancer process. It sends its host, then confirms each list that it receives.

let targets: readonly string[] = [];
let connections = 0;
const host = await startTapProxy(
  () => {
    connections += 1;
    return targets[connections % targets.length];
  },
  () => ({}),
  new CloseStack(silentLogger),
);
process.on('message', (ready: readonly string[]) => {
  targets = ready;
  process.send?.('used');
});
process.send?.(host);
