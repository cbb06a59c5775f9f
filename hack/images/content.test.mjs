import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { contentHash, linkTo, neededAtRunTime, programContent, sourceOf, writeContext } from './content.mjs';

let root;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'uswarm-content-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path, text = path) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  return join(root, path);
}

describe('the files of a program', () => {
  it('programContent returns the compiled sources, the manifest and the additional files', () => {
    write('services/web/package.json', JSON.stringify({ name: '@us/web' }));
    for (const name of ['main', 'removed']) write(`services/web/dist/${name}.js`);
    for (const path of ['src/main.ts', 'src/main.test.ts', 'dist/main.d.ts', 'dist/main.js.map', 'migrations/1.sql']) {
      write(`services/web/${path}`);
    }
    const entries = programContent({ folder: join(root, 'services/web'), files: ['migrations'], root });
    expect(entries.map(({ path, layer }) => `${layer} ${path}`)).toEqual([
      'app dist/main.js',
      'app migrations/1.sql',
      'app package.json',
    ]);
  });

  it('programContent requires a build', () => {
    write('services/web/package.json', JSON.stringify({ name: '@us/web' }));
    expect(() => programContent({ folder: join(root, 'services/web'), root })).toThrow('is not built');
  });

  it('neededAtRunTime omits files that are not used at run time, and keeps every licence', () => {
    const kept = ['index.js', 'lib/history.js', 'data.json', 'x.cjs', 'LICENSE.md', 'NOTICE', 'bin/tool'];
    const left = ['index.d.ts', 'a.mts', 'index.js.map', 'README.md', 'docs/api.md', 'CHANGELOG', 'prebuilds/x.bare'];
    expect([...kept, ...left].filter(neededAtRunTime)).toEqual(kept);
  });

  it('sourceOf maps compiled files to their sources', () => {
    expect(sourceOf('dist/features/dist/a.js')).toBe('src/features/dist/a.ts');
  });
});

it('a link connects a package to its dependency', () => {
  const target = 'node_modules/.pnpm/b@1/node_modules/@s/b';
  expect(linkTo({ place: '', manifest: { name: '@us/web' } }, '@s/b', target)).toEqual({
    path: 'node_modules/@s/b',
    target: '../.pnpm/b@1/node_modules/@s/b',
  });
  const place = 'node_modules/.pnpm/a@1/node_modules/@s/a';
  expect(linkTo({ place, manifest: { name: '@s/a' } }, 'b', target)).toEqual({
    path: 'node_modules/.pnpm/a@1/node_modules/b',
    target: '../../b@1/node_modules/@s/b',
  });
});

describe('the content hash', () => {
  const entriesOf = (...files) => files.map((path) => ({ path, layer: 'app', source: join(root, path) }));

  it('the content hash changes with each byte, name, mode, link and additional input', () => {
    for (const name of ['a', 'b']) write(name, 'same');
    const hashes = [contentHash(entriesOf('a')), contentHash(entriesOf('b')), contentHash(entriesOf('a'), ['base'])];
    write('a', 'other');
    hashes.push(contentHash(entriesOf('a')));
    chmodSync(join(root, 'a'), 0o755);
    hashes.push(contentHash(entriesOf('a')));
    for (const target of ['x', 'y']) hashes.push(contentHash([{ path: 'a', layer: 'app', target }]));
    hashes.push(contentHash([{ path: 'a', layer: 'app', text: 'x' }]));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('the content hash is equal for equal content with any umask', () => {
    write('a');
    chmodSync(join(root, 'a'), 0o600);
    const before = contentHash(entriesOf('a'));
    chmodSync(join(root, 'a'), 0o644);
    expect(contentHash(entriesOf('a'))).toBe(before);
  });
});

it('a build context has one folder per layer, with fixed modes and times', () => {
  const source = write('tool', 'program');
  chmodSync(source, 0o700);
  const folder = join(root, 'context');
  write('context/stale');
  writeContext(
    [
      { path: 'bin/tool', layer: 'app', source },
      { path: 'bin/also', layer: 'app', source, mode: 0o644 },
      { path: 'settings', layer: 'app', text: 'x: 1\n' },
      { path: 'b', layer: 'modules', target: '../elsewhere' },
    ],
    folder,
  );
  const seen = ['app/bin/tool', 'app/bin/also', 'modules/b', 'app/bin'].map((path) => lstatSync(join(folder, path)));
  expect(seen.slice(0, 2).map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['755', '644']);
  expect(seen.map(({ mtimeMs }) => mtimeMs)).toEqual([0, 0, 0, 0]);
  expect(readlinkSync(join(folder, 'modules/b'))).toBe('../elsewhere');
  expect(readFileSync(join(folder, 'app/settings'), 'utf8')).toBe('x: 1\n');
  expect(() => lstatSync(join(folder, 'stale'))).toThrow('ENOENT');
});
