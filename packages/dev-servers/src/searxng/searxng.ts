import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalError } from '../local-error.js';
import { startPythonServer, withFreePort } from '../python/python-server.js';
import { installSearxng, searxngAssets } from './searxng-install.js';
import { type JsonEngine, searxngSettings } from './searxng-settings.js';

export type { JsonEngine } from './searxng-settings.js';

export interface SearxngOptions {
  /** The folder for `installSearxng`. */
  directory: string;
  python?: string;
  /** Default: a free port. */
  port?: number;
  /** `general`: the public engines; otherwise only the given ones. */
  engines?: 'general' | readonly JsonEngine[];
  /** SearXNG's output is appended to this file. */
  logFile: string;
  onProgress?: (line: string) => void;
  /** Ends the installation and the start, which leave nothing behind. */
  signal?: AbortSignal;
  /** Milliseconds until it must be ready after its installation. Default: 60 s */
  startMs?: number;
}

export interface RunningSearxng {
  endpoint: string;
  close(): Promise<void>;
}

/**
 * Starts SearXNG on a loopback port, after installing it if needed, and waits until it is healthy. It ends with this
 * process, even if this process is killed.
 *
 * @throws LocalError if it cannot be installed, does not start, or the port is in use; the signal's reason
 */
export async function startSearxng({
  directory,
  python,
  port,
  engines = 'general',
  logFile,
  onProgress,
  signal,
  startMs,
}: SearxngOptions): Promise<RunningSearxng> {
  const installation = await installSearxng({
    directory,
    ...(python === undefined ? {} : { python }),
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });
  const start = (free: number) => startOnce({ ...installation, port: free, engines, logFile, signal, startMs });
  if (port === undefined) return withFreePort(start);
  await expectFree(port);
  return start(port);
}

interface Launch {
  python: string;
  packages: string;
  port: number;
  engines: 'general' | readonly JsonEngine[];
  logFile: string;
  signal: AbortSignal | undefined;
  startMs: number | undefined;
}

async function startOnce(options: Launch): Promise<RunningSearxng> {
  const runFolder = await mkdtemp(join(tmpdir(), 'uswarm-searxng-'));
  const removeFolder = (): Promise<void> => rm(runFolder, { recursive: true, force: true });
  const endpoint = `http://127.0.0.1:${options.port}`;
  try {
    const server = await startPythonServer({
      title: 'SearXNG',
      python: options.python,
      args: ['-I', '-S', join(searxngAssets, 'launch.py'), options.packages],
      cwd: runFolder,
      environment: await prepare(runFolder, options),
      logFile: options.logFile,
      healthUrl: `${endpoint}/healthz`,
      signal: options.signal,
      startMs: options.startMs,
    });
    const close = async (): Promise<void> => {
      await server.close();
      await removeFolder();
    };
    return { endpoint, close };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** Writes the settings into the folder. @returns the environment of SearXNG */
async function prepare(runFolder: string, { port, engines }: Launch): Promise<Record<string, string>> {
  const templatesPath = join(runFolder, 'templates');
  const staticPath = join(runFolder, 'static');
  const temporary = join(runFolder, 'tmp');
  await mkdir(join(templatesPath, 'simple'), { recursive: true });
  await mkdir(join(staticPath, 'themes', 'simple'), { recursive: true });
  await mkdir(temporary);
  const settingsFile = join(runFolder, 'settings.yml');
  const secret = randomBytes(32).toString('hex');
  // JSON is valid YAML. The mode protects the secret.
  const settings = searxngSettings({
    port,
    secret,
    templatesPath,
    staticPath,
    engines,
    environment: process.env,
  });
  await writeFile(settingsFile, JSON.stringify(settings, null, 2), { mode: 0o600 });
  return { SEARXNG_SETTINGS_PATH: settingsFile, TMPDIR: temporary };
}

/** Checks the port first, because another SearXNG on it would pass the health check. */
async function expectFree(port: number): Promise<void> {
  const probe = createServer().listen(port, '127.0.0.1');
  await once(probe, 'listening').catch(() => {
    throw new LocalError(`Port ${port} is in use; SearXNG needs another one.`);
  });
  probe.close();
  await once(probe, 'close');
}
