import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from './environment.mjs';

// The scripts run on the oldest supported Node.js; most packages need the pinned one.

// Statements begin a line; a bundled module's text can contain others.
const IMPORT = /(?:^(?:import|export)\b[^;]*?\bfrom|\bimport\()\s*'([^']+)'/gm;
const LOADABLE = /^node:|^fflate$|^esbuild$|^yaml$/;

/** The packages that a file imports directly or transitively. */
function packagesOf(file, seen = new Set()) {
  if (seen.has(file)) return [];
  seen.add(file);
  const text = readFileSync(join(repositoryRoot, file), 'utf8');
  return [...text.matchAll(IMPORT)].flatMap(([, name]) => {
    if (!name.startsWith('.')) return [name];
    const source = join(dirname(file), name).replace(/^(packages\/[\w-]+|e2e)\/dist\//, '$1/src/');
    return packagesOf(source.replace(/\.js$/, '.ts'), seen);
  });
}

const scripts = ['hack/run', 'hack/images'].flatMap((folder) =>
  readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.mjs') && !name.endsWith('.test.mjs'))
    .map((name) => join(folder, name)),
);

describe('the scripts behind npm run', () => {
  it.each(scripts)('%s loads on the oldest Node', (file) => {
    expect(packagesOf(file).filter((name) => !LOADABLE.test(name))).toEqual([]);
  });
});
