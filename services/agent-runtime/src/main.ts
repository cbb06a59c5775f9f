import { createLogger, loadConfig, openOutput, runService } from '@uswarm/service-kit';
import { configSchema } from './config.js';
import { startRuntime } from './runtime.js';

// The process can outlive its parent, so a closed pipe must not end it.
process.stderr.on('error', () => undefined);
process.stdout.on('error', () => undefined);

// Standard output has only the line with the port.
const logger = createLogger({ service: 'agent-runtime', destination: openOutput(2) });

let graceMs = 5_000;
await runService({ logger, shutdownDeadlineMs: () => graceMs }, async (stack) => {
  const config = loadConfig(configSchema, process.env);
  graceMs = config.graceMs;
  logger.level = config.logLevel;
  const onIdle = (): void => {
    logger.info('idle timeout, exiting');
    void stack.close().then(() => process.exit(0));
  };
  // A pool's process ends with the orchestrator that started it, until it is bound: no other one knows it.
  const endWithPool = (): void => process.exit(0);
  if (process.connected) process.once('disconnect', endWithPool);
  const onBound = (): void => {
    process.off('disconnect', endWithPool);
    process.disconnect?.();
  };
  const { port } = await startRuntime({ config, logger, stack, onIdle, onBound });
  process.stdout.write(`${JSON.stringify({ event: 'listening', port })}\n`);
});
