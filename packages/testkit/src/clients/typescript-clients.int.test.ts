import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildOpenApi } from '@uswarm/contract/documents';
import { type ApiDocument, LATER, valuesOfLaterReleases } from './values-of-later-releases.js';

const PACKAGE = join(import.meta.dirname, '../..');
const PROGRAM = join(PACKAGE, 'typescript/read-page.ts.txt');
const openApi = JSON.parse(JSON.stringify(buildOpenApi())) as ApiDocument;
const STRICT = '--strict --target es2022 --lib es2023,dom --module commonjs --moduleResolution bundler --skipLibCheck';

describe('TypeScript clients generated from openapi.json', () => {
  let folder: string;
  const run = async (program: string, args: readonly string[]): Promise<string> => {
    const file = join(PACKAGE, 'node_modules/.bin', program);
    const { stdout } = await promisify(execFile)(file, args, { cwd: folder, maxBuffer: 16 * 1024 ** 2 });
    return stdout;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-typescript-'));
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(openApi));
    await copyFile(PROGRAM, join(folder, 'read-page.ts'));
    await run('openapi-typescript', ['openapi.json', '-o', 'openapi-typescript.ts']);
    await run('openapi-ts', ['-i', 'openapi.json', '-o', 'hey-api', '--no-log-file']);
    await run('tsc', [...STRICT.split(' '), '--outDir', 'out', 'read-page.ts']);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function read(page: unknown, error: unknown): Promise<unknown> {
    await writeFile(join(folder, 'input.json'), JSON.stringify([page, error].map((body) => JSON.stringify(body))));
    const script = `require('./out/read-page.js').read(...require('./input.json')).then((read) => console.log(JSON.stringify(read)))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: folder });
    return JSON.parse(stdout);
  }

  it('compile under strict and read a page and an error of a later release', async () => {
    const later = valuesOfLaterReleases(openApi);
    const pages = later
      .filter(({ schema }) => schema === 'MessagePage')
      .map(({ value }) => value as { data: unknown[] });
    const page = pages.findLast(({ data }) => data.length > 5)!;
    const text = 'The words of a later release.';
    expect(await read(page, later.find(({ schema }) => schema === 'Error')?.value)).toEqual({
      openApiTypescript: page.data.map(() => text),
      heyApi: page.data.map(() => [text, LATER]),
      code: LATER,
    });
  });
});
