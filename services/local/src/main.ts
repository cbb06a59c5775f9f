import { createWriteStream } from 'node:fs';
import { CloseStack, createLogger, type Logger, silentLogger } from '@uswarm/service-kit';
import { LocalError } from '@uswarm/testkit';
import { banner } from './banner.js';
import { startLocalMode } from './local-mode.js';
import { readSettings, USAGE } from './settings.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Stops at the first Ctrl-C, at once at the second. */
function stopOnSignals(stack: CloseStack): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(130);
    stopping = true;
    say('\nStopping');
    void stack.close().then(() => {
      say('Everything is stopped; your data is kept.');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
}

async function main(): Promise<void> {
  let logger: Logger = silentLogger;
  const stack = new CloseStack({ error: (...entry: Parameters<Logger['error']>) => logger.error(...entry) });
  try {
    const settings = readSettings(process.argv.slice(2), process.env);
    if (settings === undefined) {
      say(USAGE);
      return;
    }
    stopOnSignals(stack);
    const running = await startLocalMode({
      settings,
      stack,
      progress: (line) => say(`  ${line}`),
      createLog: (file) => {
        const destination = createWriteStream(file, { flags: 'a', mode: 0o600 });
        logger = createLogger({ service: 'local', level: settings.logLevel, destination });
        return logger;
      },
    });
    say(banner(running));
  } catch (error) {
    await stack.close();
    process.stderr.write(`${error instanceof LocalError ? error.message : ((error as Error).stack ?? String(error))}\n`);
    process.exit(1);
  }
}

await main();
