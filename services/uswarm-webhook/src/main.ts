// The sync hook of the UserSwarm controller (a Metacontroller term): POST /sync renders a UserSwarm into children and
// status. It is not an admission or conversion webhook.
// oxlint-disable-next-line import/no-unassigned-import
import './v8-heap-flags.js';
import { createLogger, createMetrics, listen, runService, startOpsServer } from '@uswarm/service-kit';
import { createWebhookApp } from './app.js';
import { loadWebhookConfig } from './config/config.js';
import { programDigest, webhookRevision } from './config/webhook-revision.js';
import { probeDatabase, startProbe } from './database-probe.js';
import { createWebhookMetrics, registerDatabaseState } from './metrics.js';

const service = 'uswarm-webhook';
const logger = createLogger({ service, level: process.env['LOG_LEVEL'] || 'info' });

await runService({ logger }, async (stack) => {
  const { database, ...config } = await loadWebhookConfig(process.env);
  const registry = createMetrics(service);
  let serving = false;
  const ops = await startOpsServer({ metrics: registry, ready: () => serving, port: config.opsPort });
  stack.defer('operations server', () => ops.close());

  const probe = database === undefined ? undefined : await startProbe({ probe: probeDatabase(database), logger });
  stack.defer('database probe', () => probe?.stop());

  registerDatabaseState(registry, () => probe?.state() ?? 'unset');

  const app = createWebhookApp({
    ...config,
    version: {
      revision: webhookRevision(config.settings, database !== undefined, await programDigest(import.meta.dirname)),
      startedAt: new Date(performance.timeOrigin),
    },
    logger,
    metrics: createWebhookMetrics(registry),
    ...(probe === undefined ? {} : { databaseState: probe.state }),
  });
  const http = await listen(app, { port: config.port });
  // Longer than the keep-alive of any client: a request on a connection that the server is closing would fail.
  http.server.keepAliveTimeout = 120_000;
  stack.defer('webhook', () => http.close());
  serving = true;
  logger.info({ port: http.port, ops_port: ops.port }, 'serving /sync');
});
