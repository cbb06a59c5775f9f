import { isSpanContextValid, trace } from '@opentelemetry/api';
import { ConfigError } from './config.js';
import type { Logger } from './logger.js';
import { resolveSecretFiles } from './secret-files.js';

type Environment = Record<string, string | undefined>;

/** A secret: can be read from a file. */
const HEADERS = 'OTEL_EXPORTER_OTLP_HEADERS';
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/**
 * Exports spans if the environment names a collector: only then, the SDK is loaded. An SDK that was loaded before the
 * program, by `node --import`, receives the spans instead.
 *
 * @returns sends the remaining spans; undefined without our SDK
 * @throws ConfigError if the file with the headers cannot be read
 */
export async function startTracing(
  service: string,
  logger: Pick<Logger, 'warn'>,
  environment: Environment = process.env,
): Promise<(() => Promise<void>) | undefined> {
  if (!namesCollector(environment) || hasSdk()) return undefined;
  const headers = headersInFile(environment);
  const { startSdk } = await import('./tracing-sdk.js');
  return startSdk(service, logger, headers);
}

/** The SDK itself reads the variable, but no file. */
function headersInFile(environment: Environment): Record<string, string> {
  const { environment: resolved, problems } = resolveSecretFiles([HEADERS], environment);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  if ((environment[HEADERS] ?? '') !== '') return {};
  const pairs = (resolved[HEADERS] ?? '').split(',').map((pair) => pair.split(/=(.*)/s).map((part) => part.trim()));
  return Object.fromEntries(
    pairs.flatMap(([name = '', value = '']) => (name === '' ? [] : [[name, decodeURIComponent(value)]])),
  );
}

function namesCollector(environment: Environment): boolean {
  if (environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  if (environment['OTEL_TRACES_EXPORTER'] === 'none') return false;
  return ENDPOINTS.some((name) => (environment[name] ?? '') !== '');
}

/** Spans have ids only with an SDK. This one never ends, so no SDK exports it. */
const hasSdk = (): boolean =>
  isSpanContextValid(trace.getTracer('uswarm').startSpan('check', { root: true }).spanContext());
