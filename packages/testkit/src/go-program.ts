import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LocalError, MissingPartError } from './local-error.js';
import type { MissingPart } from './missing-part.js';
import { withInstallLock } from './servers/install-lock.js';

/** A program that Go builds once into the user's cache. */
export interface GoProgram {
  /** What it is, as a sentence says it: `an S3 server`. */
  what: string;
  /** Its file in the cache: a name and what tells this build from others. */
  file: string;
  /** How Go calls what it makes. */
  binary: string;
  /** Arguments of `go install`: packages with their version, or `.` of `folder`. */
  packages: string[];
  folder?: string;
}

/** Older ones do not fetch the toolchain that a module asks for. */
const OLDEST_GO_MINOR = 21;
const BUILD_DEADLINE_MS = 20 * 60_000;

const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'uswarm');
const pathOf = ({ file }: GoProgram): string => join(cacheFolder(), file);

function hasGo(): boolean {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', timeout: 10_000 });
  return status === 0 && Number(/^go1\.(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_GO_MINOR;
}

/** `undefined` when the program is here or can be built. */
export function missingGoProgram(program: GoProgram): MissingPart | undefined {
  if (existsSync(pathOf(program)) || hasGo()) return undefined;
  const version = `1.${OLDEST_GO_MINOR}`;
  return {
    reason: `This machine has no Go ${version} or newer to build ${program.what} with.`,
    install: `Install Go (${version} or newer).`,
  };
}

/**
 * The path of the program. Safe to call from several processes at once: one builds, the others wait.
 * @throws LocalError
 */
export async function goProgram(program: GoProgram): Promise<string> {
  const file = pathOf(program);
  if (existsSync(file)) return file;
  const missing = missingGoProgram(program);
  if (missing !== undefined) throw new MissingPartError(missing);
  await mkdir(cacheFolder(), { recursive: true });
  await withInstallLock(
    `${file}.lock`,
    async () => {
      if (!existsSync(file)) await build(program, file);
    },
    BUILD_DEADLINE_MS,
  );
  return file;
}

/** Everything that Go fetches and makes on the way lies in a folder of its own, which goes again. */
async function build(program: GoProgram, file: string): Promise<void> {
  const folder = await mkdtemp(`${file}.`);
  try {
    const [GOPATH, GOCACHE, GOBIN] = [join(folder, 'path'), join(folder, 'cache'), join(folder, 'bin')];
    await install(program, { GOPATH, GOCACHE, GOBIN, GOFLAGS: '-modcacherw -buildvcs=false', CGO_ENABLED: '0' });
    await chmod(join(GOBIN, program.binary), 0o755);
    await rename(join(GOBIN, program.binary), file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function install({ what, packages, folder }: GoProgram, env: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', ['install', '-trimpath', '-ldflags', '-s -w', ...packages], {
      ...(folder === undefined ? {} : { cwd: folder }),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: BUILD_DEADLINE_MS,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2_000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      const reason = said.trim().split('\n').at(-1) ?? '';
      if (code === 0) resolve();
      else reject(new LocalError(`Go could not build ${what}: ${reason}`));
    });
  });
}
