import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
const KIB = 1024;
type Manifest = Record<string, { file: string; isEntry?: boolean; imports?: string[]; css?: string[] }>;

async function linesOf(extension: string): Promise<Map<string, number>> {
  const names = await readdir(join(ROOT, 'src'), { recursive: true });
  const files = names.filter((name) => name.endsWith(extension));
  const count = async (name: string): Promise<[string, number]> => [
    name,
    (await readFile(join(ROOT, 'src', name), 'utf8')).split('\n').length - 1,
  ];
  return new Map(await Promise.all(files.map(count)));
}
const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);

describe('the page', () => {
  /** Compressed KiB by file. */
  const sizes = new Map<string, number>();
  let manifest: Manifest;
  beforeAll(async () => {
    const page = join(ROOT, 'dist/page');
    manifest = JSON.parse(await readFile(join(page, '.vite/manifest.json'), 'utf8')) as Manifest;
    const names = await readdir(page, { recursive: true });
    for (const name of names.filter((each) => /\.(?:js|css)$/.test(each)))
      sizes.set(name, gzipSync(await readFile(join(page, name)), { level: 9 }).length / KIB);
  });

  it('has at most 134 KiB that a first visit loads, compressed', () => {
    const files = new Set([...sizes.keys()].filter((name) => name.endsWith('.css')));
    function add(name: string): void {
      const { file, imports = [] } = manifest[name]!;
      if (files.has(file)) return;
      files.add(file);
      imports.forEach(add);
    }
    for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) add(name);
    expect(sum([...files].map((file) => sizes.get(file)!))).toBeLessThanOrEqual(134);
  });

  it('has at most 235 KiB in all, compressed', () => {
    expect(sum(sizes.values())).toBeLessThanOrEqual(235);
  });

  it.each([
    ['.tsx', 4_000],
    ['.css', 1_100],
  ])('has few lines of %s: %d', async (extension, limit) => {
    expect(sum((await linesOf(extension)).values())).toBeLessThanOrEqual(limit);
  });
});
