import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { build, buildIfChanged } from './build.mjs';

let root = '';
let builds = 0;
const options = () => ({ root, stamp: join(root, '.cache/built'), run });
const write = (name, content) => writeFileSync(join(root, name), content);

/** A build that takes no time. */
async function run() {
  builds += 1;
  write('packages/a/dist/.tsbuildinfo', `build ${builds}`);
  return { code: 0, output: '' };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'build-'));
  builds = 0;
  for (const folder of ['src/below', 'dist', 'node_modules/x'])
    mkdirSync(join(root, 'packages/a', folder), { recursive: true });
  write('tsconfig.json', JSON.stringify({ references: [{ path: './packages/a' }] }));
  write('packages/a/src/below/a.ts', 'export {};');
});
afterEach(() => rmSync(root, { recursive: true }));

describe('buildIfChanged', () => {
  it('builds the first time, and not again if nothing has changed', async () => {
    for (let times = 0; times < 3; times += 1) await buildIfChanged(options());
    expect(builds).toBe(1);
  });

  it.each([
    ['a changed file', () => write('packages/a/src/below/a.ts', 'export const a = 1;')],
    ['a file that was written again', () => utimesSync(join(root, 'packages/a/src/below/a.ts'), 1, 1)],
    ['a new file', () => write('packages/a/src/b.ts', '')],
    ['a deleted file', () => rmSync(join(root, 'packages/a/src/below/a.ts'))],
    ['a changed setting of a project', () => write('packages/a/tsconfig.json', '{}')],
    ['a changed setting of all projects', () => write('tsconfig.base.json', '{}')],
    ['a deleted output', () => rmSync(join(root, 'packages/a/dist'), { recursive: true })],
  ])('builds after %s', async (_change, change) => {
    await buildIfChanged(options());
    change();
    mkdirSync(join(root, 'packages/a/dist'), { recursive: true });
    await buildIfChanged(options());
    expect(builds).toBe(2);
  });

  it.each(['packages/a/dist/a.js', 'packages/a/node_modules/x/index.js'])(
    'does not build after a change of %s',
    async (name) => {
      await buildIfChanged(options());
      write(name, 'changed');
      await buildIfChanged(options());
      expect(builds).toBe(1);
    },
  );

  it('builds again after a change during the build', async () => {
    const changing = () => run().then((result) => (write('packages/a/src/below/a.ts', 'changed'), result));
    await buildIfChanged({ ...options(), run: changing });
    await buildIfChanged(options());
    expect(builds).toBe(2);
  });

  it('builds again after a failure', async () => {
    const failing = async () => ({ code: 1, output: 'error TS1' });
    await expect(buildIfChanged({ ...options(), run: failing })).rejects.toThrow('error TS1');
    await buildIfChanged(options());
    expect(builds).toBe(1);
  });
});

it('npm run build builds also if nothing has changed', async () => {
  await build(options());
  await build(options());
  expect(builds).toBe(2);
});
