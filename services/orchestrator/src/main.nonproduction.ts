import { createLogger, runService } from '@uswarm/service-kit';
import { startTracing } from '@uswarm/service-kit/start-tracing';
import { createEndToEndBypass } from './accounts/auth/e2e-bypass.js';
import { e2eToken } from './accounts/auth/e2e-token.js';
import { startServer } from './server/server.js';

// The entry point for test systems: like production, with the end-to-end bypass if E2E_TOKEN is set.
const service = 'orchestrator';
const logger = createLogger({ service, level: process.env['LOG_LEVEL'] ?? 'info' });

await runService({ logger, tracing: () => startTracing(service, logger) }, async (stack) => {
  const kind = process.env['USWARM_ENV'] ?? 'production';
  if (kind !== 'local' && kind !== 'test') {
    throw new Error('this entry point starts only with USWARM_ENV=local or USWARM_ENV=test');
  }
  const token = e2eToken(process.env);
  await startServer(stack, logger, process.env, token === undefined ? {} : { bypass: createEndToEndBypass(token) });
});
