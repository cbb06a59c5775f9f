import { type DestinationStream, type Logger, pino } from 'pino';
import { currentContext } from './context.js';

export type { Logger } from 'pino';

/** Fields that may contain credentials or user content; they are never logged. */
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

const STDOUT = 1;
/** Maximum bytes buffered while the output cannot be written, such as on a full disk. Further entries are dropped. */
const WAITING_BYTES = 256 * 1024;

/** Postgres data exceptions quote the rejected value in their message. */
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/;
const LEFT_OUT = 'redacted: the message quotes data';

/**
 * The safe error fields: `detail` and `where` of a database error quote whole rows, and an HTTP error can contain the
 * body.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  // A JSON syntax error quotes the text in its message.
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

/** The stack without the message, which can have several lines. */
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

/**
 * Logs one JSON line per entry with the request context, to standard output by default. Writes are synchronous: entries
 * stay in order, and none is lost when the process exits.
 */
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
  return pino(options, destination ?? openOutput(STDOUT));
}

/**
 * Standard output (1) or standard error (2) as a logger destination. A service goes on if it cannot be written: a full
 * disk, a closed pipe. The next entry tries again.
 */
export function openOutput(fd: 1 | 2): DestinationStream {
  return pino.destination({ dest: fd, sync: true, maxLength: WAITING_BYTES }).on('error', () => undefined);
}

export const silentLogger: Logger = pino({ level: 'silent' });
