import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { commandLine, identifyProcess, ownIdentity, signalProcess, stillRuns, waitForExit } from './processes.js';

describe('a process is told apart from a later one with its number', () => {
  it('by when it started', () => {
    const own = ownIdentity();
    expect(stillRuns(own)).toBe(true);
    expect(stillRuns({ ...own, started: 'another time' })).toBe(false);
  });

  it('and is gone once it ended', async () => {
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

  it('and shows its command', async () => {
    expect(commandLine(process.pid)).toContain('node');
  });
});
