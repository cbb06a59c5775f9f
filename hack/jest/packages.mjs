// Bundles packages of hundreds of files, which every test file would load again.
import { existsSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';

/** Packages with a folder that depends on them. Only their main modules are imported. */
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
  const user = join(repositoryRoot, usedBy);
  const { version } = JSON.parse(readFileSync(join(user, 'node_modules', name, 'package.json'), 'utf8'));
  const extension = format === 'cjs' ? 'cjs' : 'mjs';
  const file = join(FOLDER, `${name.replace('/', '-')}-${version}.${extension}`);
  if (existsSync(file)) return file;
  const { build } = await import('esbuild');
  const draft = `${file}.${process.pid}`;
  await build({
    absWorkingDir: user,
    entryPoints: [name],
    outfile: draft,
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
  await rename(draft, file);
  return file;
}
