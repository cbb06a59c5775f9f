import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { commandLine, identifyProcess, ownIdentity, signalProcess, stillRuns, waitForExit } from './processes.js';

describe('identifyProcess', () => {
  it('distinguishes a process from a later one with the same id by its start time', () => {
    const own = ownIdentity();
    expect(stillRuns(own)).toBe(true);
    expect(stillRuns({ ...own, started: 'another time' })).toBe(false);
  });

  it('reports the exit of a process', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const identity = identifyProcess(child.pid ?? 0) ?? ownIdentity();
    expect(identity.pid).toBe(child.pid);
    expect(await waitForExit(identity, 0)).toBe(false);
    const exited = once(child, 'exit');
    signalProcess(identity.pid, 'SIGKILL');
    await exited;
    expect(await waitForExit(identity, 10_000)).toBe(true);
    expect(() => signalProcess(identity.pid, 'SIGKILL')).not.toThrow();
  });

  it('reads the command line of a process', async () => {
    expect(commandLine(process.pid)).toContain('node');
  });
});
