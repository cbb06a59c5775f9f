import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LocalError } from '../local-error.js';
import type { MissingPart } from '../missing-part.js';

/** Older ones do not fetch the toolchain that a module asks for. */
const OLDEST_GO_MINOR = 21;
export const GO_DEADLINE_MS = 20 * 60_000;

/** Where what was built or fetched is kept. */
export const goCacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'uswarm');

/** `undefined` when this machine has a Go that is new enough; else why not, with what Go is needed for. */
export function missingGo(purpose: string): MissingPart | undefined {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', timeout: 10_000 });
  if (status === 0 && Number(/^go1\.(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_GO_MINOR) return undefined;
  const version = `1.${OLDEST_GO_MINOR}`;
  return {
    reason: `This machine has no Go ${version} or newer to ${purpose} with.`,
    install: `Install Go (${version} or newer).`,
  };
}

/** `undefined` when this machine has the C compiler that Go uses. */
export function missingCCompiler(purpose: string): MissingPart | undefined {
  const { stdout } = spawnSync('go', ['env', 'CC'], { encoding: 'utf8', timeout: 10_000 });
  const [compiler = 'gcc'] = stdout.trim().split(/\s+/);
  if (spawnSync(compiler, ['--version'], { timeout: 10_000 }).status === 0) return undefined;
  return { reason: `This machine has no C compiler to ${purpose} with.`, install: 'Install gcc or clang.' };
}

/** Runs Go with these arguments, in a folder; what it prints. @throws LocalError with the last line that it said */
export type Go = (args: readonly string[], cwd?: string, env?: NodeJS.ProcessEnv) => Promise<string>;

/** Everything that Go fetches and makes on the way lies in a folder of its own, which goes again. */
export async function withGo<T>(prefix: string, task: (go: Go, folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(prefix);
  const [GOPATH, GOCACHE, GOBIN] = [join(folder, 'path'), join(folder, 'cache'), join(folder, 'bin')];
  const env = { GOPATH, GOCACHE, GOBIN, GOFLAGS: '-modcacherw -buildvcs=false', CGO_ENABLED: '0' };
  try {
    // Unless told otherwise not inside of any module: its go.mod would have a say.
    return await task((args, cwd = folder, more = {}) => run(args, { ...process.env, ...env, ...more }, cwd), folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: GO_DEADLINE_MS });
    let [printed, said] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2_000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      const reason = said.trim().split('\n').at(-1) ?? '';
      if (code === 0) resolve(printed);
      else reject(new LocalError(`go ${args[0]} ${args.at(-1)} failed: ${reason}`));
    });
  });
}
