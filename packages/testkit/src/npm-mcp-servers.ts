import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@uswarm/dev-servers';

/** A reference server by the protocol's authors. */
export type NpmServer = 'everything' | 'filesystem' | 'memory';

export interface NpmServerOptions {
  /** To which `filesystem` has access, and in which `memory` keeps its file. Default: a temporary folder */
  folder?: string;
  /** Default: a free one. */
  port?: number;
}

interface Program {
  args: string[];
  env: Record<string, string>;
}

const PACKAGES = path.resolve(import.meta.dirname, '../node_modules');
const START_DEADLINE_MS = 60_000;
const OUTPUT_KEPT = 4_000;

const fileOf = (server: NpmServer): string =>
  path.join(PACKAGES, `@modelcontextprotocol/server-${server}/dist/index.js`);

/** Serves a program over HTTP that only speaks on its standard input and output. */
function bridged(port: number, args: string[], env: Record<string, string> = {}): Program {
  const bridge = path.join(PACKAGES, 'mcp-proxy/dist/bin/mcp-proxy.mjs');
  const listen = ['--host', '127.0.0.1', '--port', String(port), '--server', 'stream'];
  // The protocol version with sessions, which the servers themselves speak.
  return { args: [bridge, ...listen, '--no-modern', '--', process.execPath, ...args], env };
}

function programOf(server: NpmServer, port: number, folder: string): Program {
  switch (server) {
    case 'everything':
      // Listens on all interfaces; it has no setting for that.
      return { args: [fileOf(server), 'streamableHttp'], env: { PORT: String(port) } };
    case 'filesystem':
      return bridged(port, [fileOf(server), folder]);
    case 'memory':
      return bridged(port, [fileOf(server)], { MEMORY_FILE_PATH: path.join(folder, 'memory.jsonl') });
  }
}

/** Starts a server from npm, with sessions that end with its process. */
export async function startNpmServer(server: NpmServer, options: NpmServerOptions = {}) {
  const { port = await freePort() } = options;
  await using cleanup = new AsyncDisposableStack();
  const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'uswarm-mcp-')));
  if (options.folder === undefined) cleanup.defer(() => rm(folder, { recursive: true, force: true }));

  const { args, env } = programOf(server, port, folder);
  // A group, because the bridge starts the server.
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let log = '';
  child.stderr.on('data', (data: Buffer) => void (log = (log + data.toString()).slice(-OUTPUT_KEPT)));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
  cleanup.defer(async () => {
    if (child.pid !== undefined && isRunning(child)) process.kill(-child.pid, 'SIGKILL');
    await ended;
  });

  const url = `http://127.0.0.1:${port}/mcp`;
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await answers(url))) {
    if (!isRunning(child) || performance.now() > deadline) {
      throw new Error(`The MCP server ${server} did not start: ${log}`);
    }
    await sleep(25);
  }
  const running = cleanup.move();
  return { url, port, close: () => running.disposeAsync() };
}

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null;
}

/** With any status: a request without a session is rejected. */
async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(1_000) })).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
