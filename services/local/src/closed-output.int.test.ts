import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { freePort } from '@uswarm/dev-servers';
import { programFile } from '@uswarm/testkit/program-file';
import { newDataFolder } from '../test/local.js';

it.each(['packages/cli/dist/chat.js', 'packages/cli/dist/uswarmctl.js'])(
  '%s ends without an error when its output is no longer read',
  async (program) => {
    const child = spawn(process.execPath, [programFile(program), '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect({ errors, code: code as number }).toEqual({ errors: '', code: 0 });
  },
);

it('local mode goes on when its output is no longer read, and stops as usual', async () => {
  const directory = await newDataFolder();
  const port = String(await freePort());
  const child = spawn(process.execPath, [programFile('services/local/dist/main.js')], {
    env: { ...process.env, USWARM_DATA_DIR: directory, USWARM_PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for await (const piece of child.stdout.setEncoding('utf8')) {
    printed += String(piece);
    // Leaving the loop closes the pipe.
    if (printed.includes('Ctrl-C stops everything')) break;
  }
  const ended = once(child, 'exit');
  child.stderr.destroy();
  expect((await fetch(`http://127.0.0.1:${port}/v1/health`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  await rm(path.dirname(directory), { recursive: true, force: true });
});
