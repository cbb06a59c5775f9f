// Bundles packages of hundreds of files, which every test file would load again.
import { existsSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';

/** Packages with the folder whose version is used. Only their main modules are imported. */
const PACKAGES = {
  '@opentelemetry/api': { usedBy: 'packages/service-kit', format: 'cjs' },
  '@redis/client': { usedBy: 'packages/event-bus', format: 'cjs' },
  kysely: { usedBy: 'services/orchestrator', format: 'esm' },
  undici: { usedBy: 'services/orchestrator', format: 'cjs' },
};

const FOLDER = join(repositoryRoot, '.cache/jest-packages');

/** @returns a `moduleNameMapper` of jest with the bundles, which are created unless they exist */
export async function bundledPackages() {
  const bundles = await Promise.all(Object.entries(PACKAGES).map(([name, how]) => bundled(name, how)));
  return Object.fromEntries(Object.keys(PACKAGES).map((name, at) => [`^${name}$`, bundles[at]]));
}

async function bundled(name, { usedBy, format }) {
  const main = createRequire(join(repositoryRoot, usedBy, 'package.json')).resolve(name);
  const { version } = JSON.parse(readFileSync(packageFile(main, name), 'utf8'));
  const extension = format === 'cjs' ? 'cjs' : 'mjs';
  const file = join(FOLDER, `${name.replace('/', '-')}-${version}.${extension}`);
  if (existsSync(file)) return file;
  const { build } = await import('esbuild');
  await build({
    entryPoints: [main],
    outfile: `${file}.${process.pid}`,
    bundle: true,
    format,
    platform: 'node',
    target: 'node24',
    // Their own bundles, so that there is one instance of each.
    external: Object.keys(PACKAGES).filter((other) => other !== name),
    keepNames: true,
    legalComments: 'none',
    logLevel: 'error',
  });
  // Another run can create it at the same time.
  await rename(`${file}.${process.pid}`, file);
  return file;
}

/** The `package.json` of the package with this module. */
function packageFile(module, name) {
  for (let folder = dirname(module); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).name === name) return file;
  }
  throw new Error(`${module} is not part of ${name}`);
}
