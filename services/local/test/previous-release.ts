import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const ARCHIVE = path.join(REPOSITORY, 'e2e/fixtures/previous-release.tar.gz');
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
const run = promisify(execFile);

/** A program from the previous release. */
export interface PreviousProgram {
  folder: string;
  /** The built `main.ts`. */
  main: string;
  remove(): Promise<void>;
}

export interface PreviousProgramOptions {
  /** The name of its folder in `services`. */
  service: string;
  /** Folders in `packages` that it uses. */
  packages: readonly string[];
  /** Libraries that this release does not have, with the modules that replace them. */
  replaced?: Readonly<Record<string, string>>;
}

/** Builds a program from the previous release's sources, with this release's libraries. */
export async function buildPreviousProgram(options: PreviousProgramOptions): Promise<PreviousProgram> {
  const { service, packages, replaced = {} } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-previous-'));
  const sources = [`services/${service}`, ...packages.map((name) => `packages/${name}`)];
  await run('tar', ['-xzf', ARCHIVE, '-C', folder, ...sources]);
  const built = path.join(folder, 'built');
  await mkdir(path.join(built, 'dist'), { recursive: true });
  // It reads its version.
  await cp(path.join(folder, 'services', service, 'package.json'), path.join(built, 'package.json'));
  const main = path.join(built, 'dist/main.js');
  const aliases = [
    ...packages.map((name) => [`@uswarm/${name}`, path.join(folder, 'packages', name, 'src/index.ts')]),
    ...Object.entries(replaced),
  ].map(([name, file]) => `--alias:${name}=${file}`);
  const output = ['--bundle', '--platform=node', '--format=esm', '--log-level=error', `--banner:js=${REQUIRE}`];
  const libraries = sources.map((source) => path.join(REPOSITORY, source, 'node_modules'));
  await run(
    path.join(REPOSITORY, 'node_modules/.bin/esbuild'),
    [path.join(folder, 'services', service, 'src/main.ts'), ...output, ...aliases, `--outfile=${main}`],
    { env: { ...process.env, NODE_PATH: libraries.join(path.delimiter) } },
  );
  return { folder, main, remove: () => rm(folder, { recursive: true, force: true }) };
}
