import { isSpanContextValid, trace } from '@opentelemetry/api';
import type { Logger } from './logger.js';

type Environment = Record<string, string | undefined>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/**
 * Exports spans if the environment names a collector: only then, the SDK is loaded. An SDK that was loaded before the
 * program, by `node --import`, receives the spans instead.
 *
 * @returns sends the remaining spans; undefined without our SDK
 */
export async function startTracing(
  service: string,
  logger: Pick<Logger, 'warn'>,
  environment: Environment = process.env,
): Promise<(() => Promise<void>) | undefined> {
  if (!namesCollector(environment) || hasSdk()) return undefined;
  const { startSdk } = await import('./tracing-sdk.js');
  return startSdk(service, logger);
}

function namesCollector(environment: Environment): boolean {
  if (environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  if (environment['OTEL_TRACES_EXPORTER'] === 'none') return false;
  return ENDPOINTS.some((name) => (environment[name] ?? '') !== '');
}

/** Spans have ids only with an SDK. This one never ends, so no SDK exports it. */
const hasSdk = (): boolean =>
  isSpanContextValid(trace.getTracer('uswarm').startSpan('check', { root: true }).spanContext());
