import { spawn } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { runQuietly, stopOnceListening, tail } from './quiet.mjs';

it('returns the output of a command with its exit code', async () => {
  const script = 'console.log("out"); console.error("err"); process.exitCode = 3';
  const { code, output } = await runQuietly(process.execPath, ['-e', script], {});
  expect(code).toBe(3);
  expect(output.split('\n').toSorted()).toEqual(['', 'err', 'out']);
});

it('reports a missing command as a failure, not an exception', async () => {
  expect(await runQuietly('no-such-command', [], {})).toEqual({ code: 1, output: expect.stringContaining('ENOENT') });
});

it('strips colours and empty lines from the end of a log', () => {
  expect(tail('a\n\n\u001B[31mb\u001B[0m\n  \nc\n', 2)).toBe('b\nc');
});

it('sends one SIGTERM to a program that logs twice that it listens', async () => {
  const program = `
    process.once('SIGTERM', () => {
      console.error(JSON.stringify({ msg: 'listening' }));
      setTimeout(() => process.exit(7), 300);
    });
    console.log(JSON.stringify({ event: 'listening' }));
    setInterval(() => {}, 1000);`;
  const { code } = await stopOnceListening(spawn(process.execPath, ['--eval', program]));
  expect(code).toBe(7);
});
