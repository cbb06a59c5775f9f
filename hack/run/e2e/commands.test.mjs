import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { mustRun, run, runIntoFile } from './commands.mjs';

const bash = (script, options) => run('bash', ['-c', script], options);
describe('run', () => {
  it('returns the exit code and all output of the program', async () => {
    expect(await bash('echo out; echo err >&2; exit 3')).toEqual({ code: 3, output: 'out\nerr\n' });
  });

  it('kills the program and its child processes after the limit', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-commands-'));
    // The command awaits all processes that hold its output.
    const { code } = await bash('(sleep 300; touch late) & wait', { limitS: 0.3, cwd: folder });
    expect(code).toBe(124);
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  it('kills the program when the run is interrupted', async () => {
    const signal = AbortSignal.timeout(200);
    const { code } = await bash('sleep 60', { signal });
    expect(code).not.toBe(0);
  });

  it('does not start a program after the run was interrupted', async () => {
    const { code } = await bash('sleep 60', { signal: AbortSignal.abort() });
    expect(code).not.toBe(0);
  });

  it('fails if the program does not exist', async () => {
    expect(await run('there-is-no-such-program', [])).toMatchObject({ code: 1 });
    await expect(mustRun('there-is-no-such-program', [], { failure: 'It failed' })).rejects.toThrow('It failed.');
  });

  it('reports a timeout with its limit', async () => {
    await expect(mustRun('sleep', ['60'], { limitS: 0.2, failure: 'It failed' })).rejects.toThrow(
      'It failed: not finished within 0.2 s.',
    );
  });

  it('writes its output to a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-commands-'));
    const file = join(folder, 'out');
    expect(await runIntoFile('bash', ['-c', 'echo out; exit 2'], file)).toBe(2);
    expect(readFileSync(file, 'utf8')).toBe('out\n');
    rmSync(folder, { recursive: true });
  });
});
