import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { freePort } from '../free-port.js';
import { LocalError } from '../local-error.js';
import { installSearxng, searxngAssets } from './searxng-install.js';
import { type JsonEngine, searxngSettings } from './searxng-settings.js';

export type { InstallOptions } from './python-packages.js';
export { installSearxng } from './searxng-install.js';
export type { JsonEngine } from './searxng-settings.js';

const START_DEADLINE_MS = 60_000;
const POLL_MS = 100;
const STOP_GRACE_MS = 3_000;
const START_ATTEMPTS = 3;

export interface SearxngOptions {
  /** The folder for `installSearxng`. */
  directory: string;
  python?: string;
  /** A free one when absent. */
  port?: number;
  /** `general`: the public engines; else exactly these. */
  engines?: 'general' | readonly JsonEngine[];
  /** Where SearXNG's output goes; appended to. */
  logFile: string;
  onProgress?: (line: string) => void;
}

export interface RunningSearxng {
  endpoint: string;
  close(): Promise<void>;
}

/**
 * Runs SearXNG (installing it first if need be) on a loopback port, and resolves once it answers. It
 * ends with this process, however this process ends.
 *
 * @throws LocalError when it cannot be installed, does not start, or the port is taken.
 */
export async function startSearxng({
  directory,
  python,
  port,
  engines = 'general',
  logFile,
  onProgress,
}: SearxngOptions): Promise<RunningSearxng> {
  const installation = await installSearxng({
    directory,
    ...(python === undefined ? {} : { python }),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  if (port !== undefined) await expectFree(port);
  for (let attempt = 1; ; attempt += 1) {
    const options = { ...installation, port: port ?? (await freePort()), engines, logFile };
    try {
      return await startOnce(options);
    } catch (error) {
      // Somebody else took the free port before SearXNG did.
      const raced = port === undefined && error instanceof LocalError && error.message.includes('in use');
      if (!raced || attempt === START_ATTEMPTS) throw error;
    }
  }
}

async function startOnce(options: Omit<Launch, 'runFolder'>): Promise<RunningSearxng> {
  const runFolder = await mkdtemp(join(tmpdir(), 'uswarm-searxng-'));
  const child = await launch({ ...options, runFolder });
  const endpoint = `http://127.0.0.1:${options.port}`;
  const close = async (): Promise<void> => {
    await stop(child);
    await rm(runFolder, { recursive: true, force: true });
  };
  try {
    await untilHealthy(endpoint, child, options.logFile);
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint, close };
}

interface Launch {
  python: string;
  packages: string;
  runFolder: string;
  port: number;
  engines: 'general' | readonly JsonEngine[];
  logFile: string;
}

async function launch({ python, packages, runFolder, port, engines, logFile }: Launch): Promise<ChildProcess> {
  const templatesPath = join(runFolder, 'templates');
  const staticPath = join(runFolder, 'static');
  const temporary = join(runFolder, 'tmp');
  await mkdir(join(templatesPath, 'simple'), { recursive: true });
  await mkdir(join(staticPath, 'themes', 'simple'), { recursive: true });
  await mkdir(temporary);
  const settingsFile = join(runFolder, 'settings.yml');
  const secret = randomBytes(32).toString('hex');
  // JSON is YAML. The secret is in it, so only the owner may read it.
  const settings = searxngSettings({ port, secret, templatesPath, staticPath, engines });
  await writeFile(settingsFile, JSON.stringify(settings, null, 2), { mode: 0o600 });
  const log = await open(logFile, 'a');
  try {
    return spawn(python, ['-I', '-S', join(searxngAssets, 'launch.py'), packages], {
      cwd: runFolder,
      env: cleanEnvironment({ SEARXNG_SETTINGS_PATH: settingsFile, TMPDIR: temporary }),
      stdio: ['pipe', log.fd, log.fd],
    });
  } finally {
    await log.close();
  }
}

/** No `SEARXNG_*` of the machine reaches it: a stray `SEARXNG_PORT` would move or kill it. */
function cleanEnvironment(own: Record<string, string>): Record<string, string> {
  const kept = ['PATH', 'HOME', 'LANG', 'SYSTEMROOT', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
  const inherited = kept.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...own };
}

/** Looked at first, because another SearXNG on this port would answer in the place of ours. */
async function expectFree(port: number): Promise<void> {
  const probe = createServer().listen(port, '127.0.0.1');
  await once(probe, 'listening').catch(() => {
    throw new LocalError(`Port ${port} is in use; SearXNG needs another one.`);
  });
  probe.close();
  await once(probe, 'close');
}

async function untilHealthy(endpoint: string, child: ChildProcess, logFile: string): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  let launchError: Error | undefined;
  child.once('error', (error) => {
    launchError = error;
  });
  while (performance.now() < deadline) {
    if (launchError !== undefined || child.exitCode !== null || child.signalCode !== null) {
      const said = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-2).join(' ');
      throw new LocalError(`SearXNG ended while starting: ${launchError?.message ?? said} (see ${logFile})`);
    }
    if (await isHealthy(endpoint)) return;
    await sleep(POLL_MS);
  }
  throw new LocalError(`SearXNG did not answer within ${START_DEADLINE_MS / 1_000} s (see ${logFile}).`);
}

async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${endpoint}/healthz`, { signal: AbortSignal.timeout(2_000) });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exited;
  clearTimeout(force);
}
