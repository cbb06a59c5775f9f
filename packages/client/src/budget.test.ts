import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { build, type BuildOptions } from 'esbuild';

const SOURCES = import.meta.dirname;
/** Optional entries, which are not part of the others. */
const ENTRIES = ['react.ts', 'assistant-ui.ts', 'indexed-db.ts'];

const files = (await readdir(SOURCES)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
/** Lines of code, without blank lines and comments, as the linter counts them. */
async function linesOf(names: readonly string[]): Promise<number> {
  const texts = await Promise.all(names.map((name) => readFile(join(SOURCES, name), 'utf8')));
  return texts
    .join('\n')
    .split('\n')
    .filter((line) => !/^\s*(\/\/.*|\/?\*.*)?$/.test(line)).length;
}
async function bundle(entry: string, options: BuildOptions): Promise<{ text: string; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(SOURCES, entry)],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
    ...options,
  });
  return { text: outputFiles?.[0]?.text ?? '', inputs: Object.keys(metafile?.inputs ?? {}) };
}

describe('the package @uswarm/client', () => {
  it('has at most 12 files, 1,165 lines of code, and 110 in its optional entries', async () => {
    const core = files.filter((name) => !ENTRIES.includes(name));
    expect(files.length).toBeLessThanOrEqual(12);
    expect(await linesOf(core)).toBeLessThanOrEqual(1_165);
    expect(await linesOf(ENTRIES)).toBeLessThanOrEqual(110);
    expect(await linesOf(['assistant-ui.ts'])).toBeLessThanOrEqual(80);
  });

  it('has at most 23 KiB with socket.io-client, minified and compressed', async () => {
    const { text } = await bundle('index.ts', { platform: 'browser' });
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(23 * 1024);
  });

  it('depends only on socket.io-client, and on idb and react if the app uses their entries', async () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
      await readFile(join(SOURCES, '../package.json'), 'utf8'),
    ) as Record<string, Record<string, unknown>>;
    expect(Object.keys(dependencies ?? {})).toEqual(['socket.io-client']);
    expect(peerDependenciesMeta).toEqual(
      Object.fromEntries(Object.keys(peerDependencies ?? {}).map((name) => [name, { optional: true }])),
    );
  });

  it.each(['index.ts', 'react.ts', 'assistant-ui.ts'])(
    'bundles %s for React Native, without modules of Node.js',
    async (entry) => {
      const { text, inputs } = await bundle(entry, {
        platform: 'browser',
        mainFields: ['react-native', 'browser', 'module', 'main'],
        conditions: ['react-native'],
      });
      expect(text).not.toMatch(/\b(require|import)\(?["']node:/);
      expect(inputs.filter((path) => /node_modules\/(ws|xmlhttprequest-ssl)\//.test(path))).toEqual([]);
    },
  );
});
