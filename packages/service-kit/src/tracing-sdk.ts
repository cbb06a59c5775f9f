import { setTimeout as sleep } from 'node:timers/promises';
import { diag, type DiagLogger, DiagLogLevel } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Logger } from './logger.js';

/** Milliseconds for the last spans. A service has at least 15 s to shut down. */
const FLUSH_MS = 2_000;

const WARN_EVERY_MS = 5 * 60_000;

/**
 * Registers the OpenTelemetry SDK, which reads the standard variables for exporter, sampler and limits. A full queue drops
 * spans.
 *
 * @param headers in addition to those in the environment
 * @returns sends the remaining spans, in at most two seconds
 */
export function startSdk(
  service: string,
  logger: Pick<Logger, 'warn'>,
  headers: Record<string, string>,
): () => Promise<void> {
  diag.setLogger(createDiagLogger(logger), DiagLogLevel.WARN);
  const provider = new NodeTracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': `uswarm-${service}`, 'service.namespace': 'uswarm' }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ headers }))],
  });
  provider.register();
  return async () => {
    const sent = provider.shutdown().catch(() => undefined);
    await Promise.race([sent, sleep(FLUSH_MS, undefined, { ref: false })]);
  };
}

/** An unreachable collector fails each batch: one line in five minutes is enough. */
function createDiagLogger(logger: Pick<Logger, 'warn'>): DiagLogger {
  let nextAt = 0;
  function warn(reason: string): void {
    if (Date.now() < nextAt) return;
    nextAt = Date.now() + WARN_EVERY_MS;
    logger.warn({ reason: reason.slice(0, 500) }, 'OpenTelemetry reports a problem; spans may be lost');
  }
  return { error: warn, warn, info: () => undefined, debug: () => undefined, verbose: () => undefined };
}
