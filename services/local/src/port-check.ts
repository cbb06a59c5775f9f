import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { commandLine, LocalError, programOf } from '@uswarm/dev-servers';

export interface PortCheck {
  port: number;
  host?: string;
  /** The environment variable that sets the port. */
  setting?: string;
}

/** @throws LocalError with the process that uses the port, if this user can see it */
export async function checkPortFree({ port, host = '127.0.0.1', setting = 'USWARM_PORT' }: PortCheck): Promise<void> {
  const code = await tryToListen(port, host);
  if (code === undefined) return;
  if (code === 'EACCES') {
    throw new LocalError(`Port ${port} is reserved for the system. Set ${setting} to one above 1023.`);
  }
  if (code !== 'EADDRINUSE')
    throw new LocalError(`Port ${port} cannot be used (${code}). Set ${setting} to another one.`);
  const holder = holderOf(port);
  const by = holder === undefined ? '' : ` (by ${holder})`;
  throw new LocalError(`Port ${port} is already in use${by}. Set ${setting} to another one.`);
}

/** @returns the error code; undefined on success */
async function tryToListen(port: number, host: string): Promise<string | undefined> {
  const server = createServer();
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen(port, host, () => resolve(undefined));
  });
  if (code === undefined) await new Promise((resolve) => server.close(resolve));
  return code;
}

function holderOf(port: number): string | undefined {
  const pid = process.platform === 'linux' ? pidOnLinux(port) : pidByLsof(port);
  if (pid === undefined) return undefined;
  // The program is more telling than the paths of Node and of what it loads first.
  const command = commandLine(pid)
    .replace(/^\/\S*\//, '')
    .replace(/ --import \S+/, '')
    .slice(0, 80);
  return `${command === '' ? programOf(pid).name : command}, pid ${pid}`;
}

function pidByLsof(port: number): number | undefined {
  const { stdout } = spawnSync('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-t'], { encoding: 'utf8' });
  const pid = Number((stdout ?? '').split('\n')[0]);
  return pid > 0 ? pid : undefined;
}

function pidOnLinux(port: number): number | undefined {
  const sockets = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
      listeningInodes(
        quietly(() => readFileSync(table, 'utf8')),
        port,
      ),
    ),
  );
  if (sockets.size === 0) return undefined;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const holder = pids.find((pid) =>
    (quietly(() => readdirSync(`/proc/${pid}/fd`)) ?? []).some((fd) => {
      const target = quietly(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '';
      return sockets.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '');
    }),
  );
  return holder === undefined ? undefined : Number(holder);
}

/** Inodes of the sockets that listen on a port, from a table as in `/proc/net/tcp`. */
export function listeningInodes(table: string | undefined, port: number): string[] {
  const LISTEN = '0A';
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  return (table ?? '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(`:${hexPort}`) && state === LISTEN)
    .map((columns) => columns[9] ?? '');
}

/** Other users' processes are not readable, and any process may end meanwhile. */
function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
