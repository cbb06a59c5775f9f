import { createCertificate } from '@uswarm/testkit';
import { startScriptedApi } from '@uswarm/testkit/scripted-api';
import { simulateCluster } from './simulated-cluster.js';

// The benchmark's API server, in a separate process: its processor time is not measured.
const api = await startScriptedApi(await createCertificate('127.0.0.1'));
const cluster = simulateCluster(api);
process.on('message', (message: Command) => {
  if ('create' in message) void cluster.create(message.create);
  else cluster.deleteAll();
});
process.send?.({ kubeconfig: api.config.exportConfig() });

export type Command = { create: number } | { deleteAll: true };
