import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalError } from '../local-error.js';
import type { MissingPart } from '../missing-part.js';

/** Older versions do not download the toolchain that a module requires. */
const OLDEST_GO_MINOR = 21;
export const GO_DEADLINE_MS = 20 * 60_000;

/** @returns `undefined` if a recent Go is installed @param purpose completes "no Go to … with" */
export function missingGo(purpose: string): MissingPart | undefined {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', timeout: 10_000 });
  if (status === 0 && Number(/^go1\.(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_GO_MINOR) return undefined;
  const version = `1.${OLDEST_GO_MINOR}`;
  return {
    reason: `This machine has no Go ${version} or newer to ${purpose} with.`,
    install: `Install Go (${version} or newer).`,
  };
}

/** @returns `undefined` if the C compiler that Go uses is installed */
export function missingCCompiler(purpose: string): MissingPart | undefined {
  const { stdout } = spawnSync('go', ['env', 'CC'], { encoding: 'utf8', timeout: 10_000 });
  const [compiler = 'gcc'] = stdout.trim().split(/\s+/);
  if (spawnSync(compiler, ['--version'], { timeout: 10_000 }).status === 0) return undefined;
  return { reason: `This machine has no C compiler to ${purpose} with.`, install: 'Install gcc or clang.' };
}

/** Runs `go`. @returns its standard output @throws LocalError with the last line of its standard error */
export type Go = (args: readonly string[], cwd?: string, env?: NodeJS.ProcessEnv) => Promise<string>;

/** Runs `task` with a temporary GOPATH and build cache, which are deleted afterwards. */
export async function withGo<T>(prefix: string, task: (go: Go, folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(prefix);
  const [GOPATH, GOCACHE, GOBIN] = [join(folder, 'path'), join(folder, 'cache'), join(folder, 'bin')];
  const env = { GOPATH, GOCACHE, GOBIN, GOFLAGS: '-modcacherw -buildvcs=false', CGO_ENABLED: '0' };
  try {
    // By default outside of any module, whose go.mod would affect the build.
    return await task((args, cwd = folder, more = {}) => run(args, { ...process.env, ...env, ...more }, cwd), folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: GO_DEADLINE_MS });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-2_000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      const reason = stderr.trim().split('\n').at(-1) ?? '';
      if (code === 0) resolve(stdout);
      else reject(new LocalError(`go ${args[0]} ${args.at(-1)} failed: ${reason}`));
    });
  });
}
