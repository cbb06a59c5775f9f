import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const ARCHIVE = path.join(REPOSITORY, 'e2e/fixtures/previous-release.tar.gz');
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
const run = promisify(execFile);

/** A program from the previous release. */
export interface PreviousProgram {
  /** The built `main.ts`. */
  main: string;
  remove(): Promise<void>;
}

/**
 * Builds a program from the previous release's sources, with this release's libraries.
 *
 * @param service the name of its folder in `services`
 */
export async function buildPreviousProgram(service: string): Promise<PreviousProgram> {
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-previous-'));
  await run('tar', ['-xzf', ARCHIVE, '-C', folder, `services/${service}`, 'packages']);
  const packages = await readdir(path.join(folder, 'packages'));
  const scope = path.join(folder, 'node_modules/@uswarm');
  await mkdir(scope, { recursive: true });
  for (const name of packages) await symlink(path.join(folder, 'packages', name), path.join(scope, name));
  const built = path.join(folder, 'built');
  await mkdir(path.join(built, 'dist'), { recursive: true });
  // It reads its version.
  await cp(path.join(folder, 'services', service, 'package.json'), path.join(built, 'package.json'));
  const main = path.join(built, 'dist/main.js');
  const output = ['--bundle', '--platform=node', '--format=esm', '--log-level=error', `--banner:js=${REQUIRE}`];
  const libraries = [`services/${service}`, ...packages.map((name) => `packages/${name}`)];
  await run(
    path.join(REPOSITORY, 'node_modules/.bin/esbuild'),
    [
      path.join(folder, 'services', service, 'src/main.ts'),
      ...output,
      '--conditions=uswarm-source',
      `--outfile=${main}`,
    ],
    {
      env: {
        ...process.env,
        NODE_PATH: libraries.map((name) => path.join(REPOSITORY, name, 'node_modules')).join(path.delimiter),
      },
    },
  );
  return { main, remove: () => rm(folder, { recursive: true, force: true }) };
}
