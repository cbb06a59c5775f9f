import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { startTapProxy } from './tap-proxy.js';

// The balancer process: sends its host, then takes lists of ready servers, and confirms each.

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
