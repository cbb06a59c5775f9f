import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { CloseStack, ConfigError, loadConfig, port, silentLogger } from '@uswarm/service-kit';
import { LocalError, startSearxng } from '@uswarm/dev-servers';
import { z } from 'zod';
import { dataDirectory } from './data-folder.js';

// `npm run searxng`: a separate SearXNG for local mode or other programs on this machine.
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const stack = new CloseStack(silentLogger);
  const interruption = new AbortController();
  const stop = (): void => {
    interruption.abort();
    void stack.close().then(() => process.exit(0));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  try {
    const env = loadConfig(z.object({ SEARXNG_PORT: port.min(1, 'must be at least 1').default(8888) }), process.env);
    const directory = path.join(dataDirectory(process.env), 'searxng');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const starting = startSearxng({
      directory,
      port: env.SEARXNG_PORT,
      logFile: path.join(directory, 'searxng.log'),
      onProgress: (line) => say(`  ${line}`),
      signal: interruption.signal,
    });
    // Also during the installation, which leaves nothing behind.
    stack.defer('SearXNG', () => starting.then((searxng) => searxng.close()).catch(() => undefined));
    const searxng = await starting;
    say(`\nSearXNG is running at ${searxng.endpoint}\n`);
    say('Next, in a second terminal:\n');
    say(`  SVC_SEARCH_ENDPOINT=${searxng.endpoint} npm start\n`);
    say('Ctrl-C stops it.');
  } catch (error) {
    // `stop` ends the process.
    if (interruption.signal.aborted) return;
    const known = error instanceof LocalError || error instanceof ConfigError;
    process.stderr.write(`${known ? error.message : ((error as Error).stack ?? String(error))}\n`);
    process.exit(1);
  }
}

await main();
