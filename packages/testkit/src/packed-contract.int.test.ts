import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { type Consumer, installPackages, packageProblems, packPackage } from './packed-package.js';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

const TYPES = `
import { ERRORS, type MessageData, ROUTES, type RouteInput, SERVER_EVENTS, type ServerEventPayload } from '@uswarm/contract';
import { buildAsyncApi, buildOpenApi } from '@uswarm/contract/documents';
import openapi from '@uswarm/contract/openapi.json' with { type: 'json' };

const question = (message: MessageData): string | undefined => message.in_reply_to;
const ended = (done: ServerEventPayload<'message.done'>): boolean => done.answer_ended === true;
type SendInput = RouteInput<'sendMessage'>;
export const send: SendInput['body'] = { content: { type: 'text', text: 'Hello' }, mentions: [], attachments: [] };
// @ts-expect-error a message has no such field
export const missing = (message: MessageData) => message.nothing;
export const used = [question, ended, ERRORS, SERVER_EVENTS, buildAsyncApi, buildOpenApi, openapi.info.version];
`;

const RUNS = `
import { ROUTES, SERVER_EVENTS } from '@uswarm/contract';
import { buildAsyncApi, buildOpenApi } from '@uswarm/contract/documents';
const known = SERVER_EVENTS['agent.delegation'].payload.safeParse({ workspace_id: 'none' }).success;
console.log(JSON.stringify([ROUTES.length > 10, known, buildOpenApi().info.version, buildAsyncApi().asyncapi]));
`;

const IN_BROWSER = `
import { ERRORS, ROUTES, SERVER_EVENTS } from '@uswarm/contract';
globalThis.uswarm = [ROUTES.length, Object.keys(SERVER_EVENTS), ERRORS.rate_limited.retryable];
`;

describe('the packed @uswarm/contract', () => {
  let folder: string;
  let tarball: string;
  let app: Consumer;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-packed-'));
    tarball = await packPackage('packages/contract', folder);
    app = await installPackages([tarball]);
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(app.folder, { recursive: true, force: true });
  });

  it('has no problem that publint or @arethetypeswrong/cli know', async () => {
    expect(await packageProblems(tarball)).toBe('');
  });

  it('is complete for an app with strict types that checks the declarations of its packages', async () => {
    const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: [] };
    const readme = await readFile(path.join(app.folder, 'node_modules/@uswarm/contract/README.md'), 'utf8');
    const [, example = ''] = /```ts\n([^]*?)```/.exec(readme) ?? [];
    expect(example).toContain('@uswarm/contract');
    await app.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['types.ts', 'readme.ts'] }));
    await app.write('types.ts', TYPES);
    await app.write('readme.ts', example);
    const tsc = path.join(REPOSITORY, 'node_modules/.bin/tsc');
    expect(await app.run(tsc, ['-p', '.'])).toEqual({ code: 0, output: '' });
  });

  it('runs in Node without the condition of the repository', async () => {
    await app.write('runs.mjs', RUNS);
    const { code, output } = await app.run(process.execPath, ['runs.mjs']);
    expect({ code, printed: JSON.parse(output) as unknown }).toEqual({
      code: 0,
      printed: [true, false, expect.stringMatching(/^\d+\.\d+\.\d+/), '3.0.0'],
    });
  });

  it('is bundled for browsers without modules of Node', async () => {
    await app.write('browser.mjs', IN_BROWSER);
    const bundle = await build({
      entryPoints: [path.join(app.folder, 'browser.mjs')],
      bundle: true,
      minify: true,
      platform: 'browser',
      target: 'es2022',
      write: false,
      metafile: true,
    });
    expect(bundle.warnings).toEqual([]);
    const inputs = Object.keys(bundle.metafile.inputs).filter((file) => !file.includes('node_modules/zod/'));
    expect(inputs.filter((file) => /internal|admin|documents|userswarm/.test(file))).toEqual([]);
  });

  it('has the internal API of the services in none of its files', async () => {
    const { output } = await app.run('grep', ['-rlE', '/internal/v1|/admin/v1', 'node_modules/@uswarm/contract']);
    expect(output).toBe('');
  });
});
