import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { listen } from '@uswarm/service-kit';
import { startChromium } from '@uswarm/testkit/chromium';
import { build } from 'esbuild';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { runProgram } from '../test/program.js';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const LOCAL_URL = 'http://127.0.0.1:8080';

let local: RunningProgram;
beforeAll(async () => {
  local = await runLocalMode();
});
afterAll(() => local?.stop());

describe('docs/build-an-app.md', () => {
  it('has snippets that form one program, which does each of the eleven steps', async () => {
    const page = await readFile(path.join(REPOSITORY, 'docs/build-an-app.md'), 'utf8');
    const snippets = [...page.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code]) => code);
    expect(page.match(/^## \d+\. /gm)).toHaveLength(11);
    // Inside the data folder, which the test deletes. Packages are found by the folders above.
    const folder = path.join(path.dirname(local.directory), 'app');
    await mkdir(path.join(folder, 'node_modules/@uswarm'), { recursive: true });
    await symlink(path.join(REPOSITORY, 'packages/client'), path.join(folder, 'node_modules/@uswarm/client'));
    await writeFile(path.join(folder, 'app.mjs'), snippets.join('\n').replaceAll(LOCAL_URL, local.url));
    const app = runProgram(path.join(folder, 'app.mjs'), [], {});
    expect({ code: await app.ended, errors: app.stderr() }).toEqual({ code: 0, errors: '' });
    expect(app.stdout().trimEnd().split('\n')).toEqual([
      'answer: long',
      'known after the restart: true',
      'sent once: true',
      'attached: teas.txt',
      'chosen: Continue',
      'error: action_already_chosen 409 false',
      'bytes of an event: true',
    ]);
    await rm(folder, { recursive: true });
  });
});

describeWith('chromium', 'examples/web', () => {
  it('signs in, sends a message, and shows the answer, also after the page is loaded again', async () => {
    const folder = path.join(REPOSITORY, 'examples/web');
    const [html, bundle] = await Promise.all([
      readFile(path.join(folder, 'index.html'), 'utf8'),
      build({
        absWorkingDir: folder,
        entryPoints: ['app.js'],
        outdir: 'www',
        bundle: true,
        format: 'esm',
        write: false,
      }),
    ]);
    const browser = await startChromium();
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    // The app's development server.
    const server = await listen(
      (request, response) => {
        const isScript = request.url === '/www/app.js';
        response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
        response.end(isScript ? bundle.outputFiles[0]?.text : html);
      },
      { host: '127.0.0.1', port: 0 },
    );
    await page.goto(`http://localhost:${server.port}/?url=${local.url}`);
    await page.getByLabel('E-mail').fill('web@example.com');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Message').fill('hello from the page');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByRole('listitem').filter({ hasText: 'You asked: hello from the page' });
    await answer.waitFor();
    await page.reload();
    await answer.waitFor();
    expect(
      await page
        .getByRole('listitem')
        .filter({ hasText: /^hello from the page$/ })
        .count(),
    ).toBe(1);
    expect(problems).toEqual([]);
    await browser.close();
    await server.close(0);
  });
});
