import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const PROGRAMS = path.resolve(import.meta.dirname, '../node_modules/.bin');

/** Program output, also after a failure. */
interface Finished {
  code: number;
  output: string;
}

async function finished(program: string, args: string[], folder: string): Promise<Finished> {
  try {
    const { stdout, stderr } = await run(program, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, output: stdout + stderr };
  }
}

/** The repository's pnpm. */
async function pnpm(): Promise<string> {
  const install = await readFile(path.join(REPOSITORY, 'hack/run/install.mjs'), 'utf8');
  const [, version] = /'(pnpm@[\d.]+)'/.exec(install) ?? [];
  if (version === undefined) throw new Error('hack/run/install.mjs names no version of pnpm');
  return version;
}

/**
 * Packs a built workspace package as it would be published.
 *
 * @param folder relative to the repository, such as `packages/contract`
 * @returns the tarball path
 */
export async function packPackage(folder: string, into: string): Promise<string> {
  const args = ['--yes', await pnpm(), 'pack', '--json', '--pack-destination', into];
  const { stdout } = await run('npx', args, { cwd: path.join(REPOSITORY, folder), maxBuffer: 64 * 1024 * 1024 });
  const { filename } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { filename: string };
  return path.resolve(into, filename);
}

/** A folder outside the repository in which packages are installed. */
export interface Consumer {
  folder: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a program in the folder. */
  run(program: string, args: string[]): Promise<Finished>;
}

/**
 * Installs packages with npm in a new folder, as an app would.
 *
 * @param packages tarballs from `packPackage`, and published package names
 * @throws Error with the output of npm
 */
export async function installPackages(packages: readonly string[]): Promise<Consumer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-consumer-'));
  const write = (file: string, text: string) => writeFile(path.join(folder, file), text);
  await write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  await run('npm', ['install', ...quiet, ...packages], { cwd: folder });
  return { folder, write, run: (program, args) => finished(program, args, folder) };
}

/**
 * The findings of publint and `@arethetypeswrong/cli` in a package tarball that has ECMAScript modules only; empty if
 * there are none.
 */
export async function packageProblems(tarball: string): Promise<string> {
  const folder = path.dirname(tarball);
  const checks = await Promise.all([
    finished(path.join(PROGRAMS, 'publint'), ['run', tarball, '--strict'], folder),
    finished(path.join(PROGRAMS, 'attw'), [tarball, '--profile', 'esm-only', '--no-emoji'], folder),
  ]);
  return checks.flatMap(({ code, output }) => (code === 0 ? [] : [output])).join('\n');
}
