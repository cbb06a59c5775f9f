import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Fields that may carry credentials or what people wrote; they never reach a log line. */
const REDACTED = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'id_token',
  'api_key',
  'text',
  'content',
  'x-token',
  'x-e2e-token',
  'x-signature',
];

/**
 * Of an error only what names the fault: a database's `detail` and `where` quote whole rows, and
 * an HTTP error may hold the body.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(code === undefined ? {} : { code }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(error.cause === undefined || depth >= 3 ? {} : { cause: errorFields(error.cause, depth + 1) }),
  };
}

export interface LoggerOptions {
  service: string;
  level?: string;
  destination?: DestinationStream;
}

/** One JSON line an entry, on standard output unless told otherwise. */
export function createLogger({ service, level = 'info', destination }: LoggerOptions): Logger {
  const paths = REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => errorFields(error) },
    redact: { paths, censor: '[redacted]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

export const silentLogger: Logger = pino({ level: 'silent' });
