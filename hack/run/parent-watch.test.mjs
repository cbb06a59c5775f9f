import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

const FOREGROUND = new URL('foreground.mjs', import.meta.url).href;
const ENVIRONMENT = new URL('environment.mjs', import.meta.url).href;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parent-watch-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('a program ends with SIGTERM when the command that runs it is killed', async () => {
  const program = join(folder, 'program.mjs');
  writeFileSync(
    program,
    `process.on('SIGTERM', () => { console.log('stopped'); process.exit(0); });
     setInterval(() => {}, 1_000);
     console.log('runs ' + (process.env.USWARM_PARENT_PID ?? 'alone'));`,
  );
  const command = join(folder, 'command.mjs');
  writeFileSync(
    command,
    `import { runForeground } from ${JSON.stringify(FOREGROUND)};
     import { nodeBinary } from ${JSON.stringify(ENVIRONMENT)};
     await runForeground(nodeBinary, [${JSON.stringify(program)}], { interactive: false });`,
  );
  const child = spawn(process.execPath, [command], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8');
  let output = '';
  child.stdout.on('data', (piece) => {
    output += piece;
    if (output === 'runs alone\n') child.kill('SIGKILL');
  });
  await once(child.stdout, 'close');
  expect(output).toBe('runs alone\nstopped\n');
});
