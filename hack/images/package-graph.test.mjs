import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { collectPackages, placeOf, runtimeDependencies } from './package-graph.mjs';

let root;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'uswarm-graph-')));
});
afterEach(() => rmSync(root, { recursive: true }));

/** A package as pnpm installs it: in the store or in the workspace, with links to its dependencies. */
function addPackage(folder, manifest, links = {}) {
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, 'package.json'), JSON.stringify(manifest));
  const inStore = folder.includes('.pnpm');
  const modules = inStore ? folder.slice(0, -manifest.name.length - 1) : join(folder, 'node_modules');
  for (const [name, target] of Object.entries(links)) {
    const link = join(root, modules, name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), join(root, target)), link);
  }
}
const store = (id, name) => `node_modules/.pnpm/${id}/node_modules/${name}`;

describe('a dependency that is not installed', () => {
  beforeEach(() => addPackage('program', { name: 'program', dependencies: { '@a/left-out': '1' } }));

  it('is an error', () => {
    expect(() => collectPackages(join(root, 'program'), root)).toThrow(
      'program needs @a/left-out, which is not installed.',
    );
  });

  it('is accepted if the workspace leaves it out', () => {
    writeFileSync(join(root, 'pnpm-workspace.yaml'), "overrides:\n  'program>@a/left-out': '-'\n");
    expect(collectPackages(join(root, 'program'), root).map(({ manifest }) => manifest.name)).toEqual(['program']);
  });
});

describe('the packages of a program', () => {
  beforeEach(() => {
    addPackage(
      store('a@1', 'a'),
      { name: 'a', dependencies: { b: '2' }, peerDependencies: { absent: '*' } },
      {
        b: store('b@2', 'b'),
      },
    );
    addPackage(store('b@1', 'b'), { name: 'b' });
    addPackage(store('b@2', 'b'), { name: 'b', dependencies: { a: '1' } }, { a: store('a@1', 'a') });
    addPackage(store('dev@1', 'dev'), { name: 'dev' });
    addPackage('packages/kit', { name: '@us/kit', dependencies: { b: '1' } }, { b: store('b@1', 'b') });
    addPackage(
      'services/web',
      { name: '@us/web', dependencies: { a: '1', '@us/kit': 'workspace:*' }, devDependencies: { dev: '1' } },
      { a: store('a@1', 'a'), '@us/kit': 'packages/kit', dev: store('dev@1', 'dev') },
    );
  });

  it('collectPackages returns the run-time dependencies in their versions, including cycles', () => {
    const packages = collectPackages(join(root, 'services/web'), root);
    expect(Object.fromEntries(packages.map(({ place, links }) => [place, Object.fromEntries(links)]))).toEqual({
      '': { a: store('a@1', 'a'), '@us/kit': store('@us+kit@workspace', '@us/kit') },
      [store('a@1', 'a')]: { b: store('b@2', 'b') },
      [store('b@2', 'b')]: { a: store('a@1', 'a') },
      [store('@us+kit@workspace', '@us/kit')]: { b: store('b@1', 'b') },
      [store('b@1', 'b')]: {},
    });
  });

  it('collectPackages can be limited to some dependencies', () => {
    const packages = collectPackages(join(root, 'services/web'), root, ['@us/kit']);
    expect(packages.map(({ manifest }) => manifest.name)).toEqual(['@us/web', '@us/kit', 'b']);
  });

  it('collectPackages rejects a package that is not installed', () => {
    addPackage('services/other', { name: '@us/other', dependencies: { gone: '1' } });
    expect(() => collectPackages(join(root, 'services/other'), root)).toThrow('@us/other needs gone');
  });
});

it('an optional dependency may be absent, even if it is also listed as a dependency', () => {
  const manifest = { dependencies: { a: '1', b: '1' }, optionalDependencies: { b: '1' }, peerDependencies: { c: '1' } };
  expect(Object.fromEntries(runtimeDependencies(manifest))).toEqual({ a: true, b: false, c: false });
});

it('a package keeps its folder of pnpm; a workspace package gets a name of the same form', () => {
  expect(placeOf('node_modules/.pnpm/@s+p@1.0.0_x@2/node_modules/@s/p', '@s/p')).toBe(store('@s+p@1.0.0_x@2', '@s/p'));
  expect(placeOf('packages/kit', '@us/kit')).toBe(store('@us+kit@workspace', '@us/kit'));
});
