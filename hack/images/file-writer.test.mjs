import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { bundlePrograms } from './bundle.mjs';
import { services } from './services.mjs';

const folder = mkdtempSync(join(tmpdir(), 'uswarm-file-writer-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function place(path) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  return file;
}

it('an image of the orchestrator writes a PDF without installed packages', async () => {
  const { programs, packageFiles } = services.find(({ name }) => name === 'orchestrator');
  const [program] = programs.filter((name) => name === 'file-writer-worker');
  const service = join(repositoryRoot, 'services/orchestrator');
  const { entries } = await bundlePrograms({ folder: service, programs: [program], root: repositoryRoot });
  for (const { path, text } of entries) writeFileSync(place(path), text);
  const { resolve } = createRequire(join(repositoryRoot, 'packages/file-writer/package.json'));
  const fonts = Object.entries(packageFiles).filter(([path]) => path.startsWith('fonts/'));
  for (const [path, from] of fonts) copyFileSync(resolve(from), place(path));
  writeFileSync(place('package.json'), '{"type":"module"}');
  const workerData = { type: 'pdf', name: 'Tea', content: '# Чай' };
  const worker = new Worker(join(folder, `dist/${program}.js`), { workerData });
  const [{ file }] = await once(worker, 'message');
  await worker.terminate();
  expect(Buffer.from(file.bytes.slice(0, 5)).toString()).toBe('%PDF-');
});
