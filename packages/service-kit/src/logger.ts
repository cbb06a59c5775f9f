import { type DestinationStream, type Logger, pino } from 'pino';
import { currentContext } from './context.js';

export type { Logger } from 'pino';

/** Fields that may carry credentials or what people wrote; they never reach a log line. */
const REDACTED = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'tool_token',
  'toolToken',
  'id_token',
  'api_key',
  'text',
  'content',
  'x-token',
  'x-e2e-token',
  'x-signature',
];

/** What Postgres says of a value that it cannot take quotes the value. */
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/;
const LEFT_OUT = 'left out: it quotes data';

/**
 * Of an error only what names the fault: a database's `detail` and `where` quote whole rows, and
 * an HTTP error may hold the body.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  // So does what is said of a text that is no JSON.
  const quotes = error instanceof SyntaxError || (typeof code === 'string' && DATA_EXCEPTION.test(code));
  return {
    type: error.name,
    message: quotes ? LEFT_OUT : error.message,
    stack: quotes ? callsOf(error.stack) : error.stack,
    ...(code === undefined ? {} : { code }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(error.cause === undefined || depth >= 3 ? {} : { cause: errorFields(error.cause, depth + 1) }),
  };
}

/** A stack begins with the message, of however many lines. */
function callsOf(stack: string | undefined): string | undefined {
  return stack
    ?.split('\n')
    .filter((line) => /^ {4}at /.test(line))
    .join('\n');
}

export interface LoggerOptions {
  service: string;
  level?: string;
  destination?: DestinationStream;
}

/** One JSON line an entry, on standard output unless told otherwise; it names the request that it is written in. */
export function createLogger({ service, level = 'info', destination }: LoggerOptions): Logger {
  const paths = REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => ({ ...currentContext() }),
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => errorFields(error) },
    redact: { paths, censor: '[redacted]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

export const silentLogger: Logger = pino({ level: 'silent' });
