import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LocalError, MissingPartError } from '../local-error.js';
import type { MissingPart } from '../missing-part.js';
import { withInstallLock } from './install-lock.js';

// The Go module of the same name: npm and PyPI have no S3 server that is kept up and has multipart uploads.
const VERSION = 'v1.8.0';
const PACKAGE = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;
/** Older ones do not fetch the toolchain that a module asks for. */
const OLDEST_GO_MINOR = 21;
const BUILD_DEADLINE_MS = 20 * 60_000;

const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'uswarm');
const programPath = (): string => join(cacheFolder(), `versitygw-${VERSION}`);

function hasGo(): boolean {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', timeout: 10_000 });
  return status === 0 && Number(/^go1\.(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_GO_MINOR;
}

/** `undefined` when the server is here or can be built. */
export function missingS3(): MissingPart | undefined {
  if (existsSync(programPath()) || hasGo()) return undefined;
  const version = `1.${OLDEST_GO_MINOR}`;
  return {
    reason: `This machine has no Go ${version} or newer to build an S3 server with.`,
    install: `Install Go (${version} or newer).`,
  };
}

/**
 * The server program, built once into the user's cache: a few minutes. Safe to call from several
 * processes at once: one builds, the others wait.
 * @throws LocalError
 */
export async function s3Program(): Promise<string> {
  const program = programPath();
  if (existsSync(program)) return program;
  const missing = missingS3();
  if (missing !== undefined) throw new MissingPartError(missing);
  await mkdir(cacheFolder(), { recursive: true });
  await withInstallLock(
    `${program}.lock`,
    async () => {
      if (!existsSync(program)) await build(program);
    },
    BUILD_DEADLINE_MS,
  );
  return program;
}

/** Everything that Go fetches and makes on the way lies in a folder of its own, which goes again. */
async function build(program: string): Promise<void> {
  const folder = await mkdtemp(`${program}.`);
  try {
    const [GOPATH, GOCACHE, GOBIN] = [join(folder, 'path'), join(folder, 'cache'), join(folder, 'bin')];
    await run({ GOPATH, GOCACHE, GOBIN, GOFLAGS: '-modcacherw -buildvcs=false', CGO_ENABLED: '0' });
    await chmod(join(GOBIN, 'versitygw'), 0o755);
    await rename(join(GOBIN, 'versitygw'), program);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(env: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', ['install', '-trimpath', '-ldflags', '-s -w', PACKAGE], {
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
      else reject(new LocalError(`The S3 server for tests could not be built with Go: ${reason}`));
    });
  });
}
