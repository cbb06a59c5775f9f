import { once } from 'node:events';
import { CloseStack, ConfigError, createLogger, type Logger, silentLogger } from '@uswarm/service-kit';
import { LocalError } from '@uswarm/dev-servers';
import { banner } from './banner.js';
import { describeDiskProblem } from './disk-problem.js';
import { startLocalMode } from './local-mode.js';
import { openLogFile } from './log-file.js';
import { createProgress } from './progress.js';
import { readSettings, USAGE } from './settings.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
// A terminal that was closed, or a pipe that is no longer read, does not end the services.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);

/** Aborts on the first signal. A second Ctrl-C ends the process immediately; IDEs and containers repeat the other signals. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted && name === 'SIGINT') process.exit(130);
    if (controller.signal.aborted) return;
    say('\nStopping');
    controller.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt);
  return controller.signal;
}

/** Runs until the signal aborts, also during startup, then stops all started components. @throws the startup error */
async function run(signal: AbortSignal): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings === undefined) return say(USAGE);

  let logger: Logger = silentLogger;
  const stack = new CloseStack({ error: (...entry: Parameters<Logger['error']>) => logger.error(...entry) });
  const createLog = (file: string): Logger => {
    logger = createLogger({ service: 'local', level: settings.logLevel, destination: openLogFile(file, say) });
    return logger;
  };
  try {
    const progress = createProgress(say, signal);
    const running = await startLocalMode({ settings, stack, signal, progress, createLog });
    if (!signal.aborted) {
      say(banner(running));
      await once(signal, 'abort');
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await stack.close();
  }
  say('Everything is stopped; your data is kept.');
}

/** One line for what the user can correct; the stack for everything else. */
function describe(error: unknown): string {
  if (error instanceof LocalError) return error.message;
  if (error instanceof ConfigError) return `${error.message.replaceAll('\n', '; ')}.`;
  return describeDiskProblem(error) ?? (error instanceof Error ? (error.stack ?? error.message) : String(error));
}

try {
  await run(interruption());
  process.exit(0);
} catch (error) {
  process.stderr.write(`${describe(error)}\n`);
  process.exit(1);
}
