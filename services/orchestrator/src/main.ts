import { createLogger, runService } from '@uswarm/service-kit';
import { startTracing } from '@uswarm/service-kit/start-tracing';
import { startServer } from './server/server.js';

// The production entry point. It must not import the end-to-end bypass, and it fails if a token for it is set.
const service = 'orchestrator';
const logger = createLogger({ service, level: process.env['LOG_LEVEL'] ?? 'info' });

await runService({ logger, tracing: () => startTracing(service, logger) }, async (stack) => {
  for (const name of ['E2E_TOKEN', 'E2E_TOKEN_FILE']) {
    if ((process.env[name] ?? '') === '') continue;
    throw new Error(`${name} is set, and production has no end-to-end bypass: remove it`);
  }
  await startServer(stack, logger, process.env);
});
