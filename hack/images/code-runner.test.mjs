import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from '@jest/globals';
import { pythonWheels } from '../code-runner/python-wheels.mjs';
import { nodeBinary, repositoryRoot } from '../run/environment.mjs';
import { bundlePrograms } from './bundle.mjs';
import { services } from './services.mjs';

const folder = mkdtempSync(join(tmpdir(), 'uswarm-code-runner-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
const DRAWING = `writeFile('a.png', '${SVG}'); 6 * 7`;

function place(path) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  return file;
}

it('an image of the orchestrator runs code without installed packages', async () => {
  const { packageFiles, pythonWheels: wheels } = services.find(({ name }) => name === 'orchestrator');
  const service = join(repositoryRoot, 'services/orchestrator');
  const programs = ['code-runner-main'];
  const { entries } = await bundlePrograms({ folder: service, programs, root: repositoryRoot });
  for (const { path, text, source } of entries) {
    if (text === undefined) copyFileSync(source, place(path));
    else writeFileSync(place(path), text);
  }
  const { resolve } = createRequire(join(repositoryRoot, 'packages/code-runner/package.json'));
  const pyodide = Object.entries(packageFiles).filter(([path]) => path.startsWith('dist/pyodide/'));
  for (const [path, from] of pyodide) copyFileSync(resolve(from), place(path));
  for (const path of pythonWheels(repositoryRoot))
    copyFileSync(join(repositoryRoot, path), place(`${wheels}/${basename(path)}`));
  writeFileSync(place('package.json'), '{"type":"module"}');
  const script = `
    import { createCodeRunner } from ${JSON.stringify(pathToFileURL(join(repositoryRoot, 'packages/code-runner/dist/index.js')))};
    const program = new URL(${JSON.stringify(pathToFileURL(join(folder, 'dist/code-runner-main.js')))});
    const runner = createCodeRunner({ program, limits: { timeMs: 240_000, processorMs: 60_000 } });
    const { signal } = new AbortController();
    const run = async (language, code) => {
      const { output, error, files } = await runner.run({ language, code, signal });
      return { output, error, files: files.map(({ bytes }) => Buffer.from(bytes).toString('latin1', 1, 4)) };
    };
    console.log(JSON.stringify([
      await run('javascript', ${JSON.stringify(DRAWING)}),
      await run('python', 'import pygal, openpyxl, xlsxwriter, tabulate\\n6 * 7'),
    ]));
    await runner.close();`;
  const child = spawn(nodeBinary, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  expect(await json(child.stdout)).toEqual([
    { output: '42\n', files: ['PNG'] },
    { output: '42\n', files: [] },
  ]);
}, 300_000);
