import type { Logger } from './logger.js';

/** Something that can be stopped; the order of stopping is the reverse of the order of starting. */
export type Closer = () => Promise<void> | void;

/** Collects what a service started, and stops it in reverse order, each at most once. */
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
        this.#logger.error({ err: error, part: name }, 'a part did not stop cleanly');
      }
    }
  }
}

export interface RunServiceOptions {
  logger: Logger;
  /** Milliseconds that stopping may take before the process exits anyway; a function is asked when stopping begins. */
  shutdownDeadlineMs?: number | (() => number);
}

/**
 * The life of a service process: start, wait for SIGTERM or SIGINT, stop in reverse order, exit.
 * A failed start prints one line and exits with 1.
 */
export async function runService(
  { logger, shutdownDeadlineMs = 15_000 }: RunServiceOptions,
  start: (stack: CloseStack) => Promise<void>,
): Promise<void> {
  const stack = new CloseStack(logger);
  const stop = (signal: NodeJS.Signals): void => {
    logger.info({ signal }, 'stopping');
    const deadlineMs = typeof shutdownDeadlineMs === 'number' ? shutdownDeadlineMs : shutdownDeadlineMs();
    setTimeout(() => {
      logger.error('stopping took too long');
      process.exit(1);
    }, deadlineMs).unref();
    void stack.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  try {
    await start(stack);
  } catch (error) {
    logger.fatal({ err: error }, error instanceof Error ? error.message : 'start failed');
    await stack.close();
    process.exit(1);
  }
}
