import type { Logger } from './logger.js';

/** Stops one component. */
export type Closer = () => Promise<void> | void;

/**
 * Stops service components once, in reverse start order. Unlike `AsyncDisposableStack`, it logs an error with the
 * component's name.
 */
export class CloseStack {
  readonly #closers: { name: string; close: Closer }[] = [];
  readonly #logger: Pick<Logger, 'error'>;
  #closing: Promise<void> | undefined;

  constructor(logger: Pick<Logger, 'error'>) {
    this.#logger = logger;
  }

  defer(name: string, close: Closer): void {
    this.#closers.push({ name, close });
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (const { name, close } of this.#closers.toReversed()) {
      try {
        await close();
      } catch (error) {
        this.#logger.error({ err: error, part: name }, 'component failed to stop');
      }
    }
  }
}

export interface RunServiceOptions {
  logger: Logger;
  /** Milliseconds until the process exits even if the shutdown is not complete; a function is called when it begins. */
  shutdownDeadlineMs?: number | (() => number);
  /** Starts the export of spans before anything else; see `startTracing`. Stopped last. */
  tracing?: () => Promise<Closer | undefined>;
}

/**
 * Runs a service process: starts it, waits for SIGTERM or SIGINT, stops it in reverse order, and exits.
 * A failed start logs one line and exits with 1.
 */
export async function runService(
  { logger, shutdownDeadlineMs = 15_000, tracing }: RunServiceOptions,
  start: (stack: CloseStack) => Promise<void>,
): Promise<void> {
  const stack = new CloseStack(logger);
  const stop = (signal: NodeJS.Signals): void => {
    logger.info({ signal }, 'stopping');
    const deadlineMs = typeof shutdownDeadlineMs === 'number' ? shutdownDeadlineMs : shutdownDeadlineMs();
    setTimeout(() => {
      logger.error('shutdown timed out');
      process.exit(1);
    }, deadlineMs).unref();
    void stack.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  try {
    const endTracing = await tracing?.();
    if (endTracing !== undefined) stack.defer('tracing', endTracing);
    await start(stack);
  } catch (error) {
    logger.fatal({ err: error }, error instanceof Error ? error.message : 'start failed');
    await stack.close();
    process.exit(1);
  }
}
