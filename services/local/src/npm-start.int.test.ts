import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, identifyProcess, type ProcessIdentity, stillRuns } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { byTier } from '@uswarm/testkit/tier';
import { newDataFolder } from '../test/local.js';
import { childrenOf, descendantsOf } from '../test/processes.js';
import { checkPortFree } from './port-check.js';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

describe('npm start', () => {
  let directory: string;
  let port: number;
  let npm: ChildProcess;
  let output: string;
  let started: ProcessIdentity[];

  const lockHolder = (): number | undefined => {
    const file = path.join(directory, 'lock');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid : undefined;
  };

  beforeAll(async () => {
    directory = await newDataFolder();
    port = await freePort();
  });
  beforeEach(async () => {
    output = '';
    npm = spawn('npm', ['start'], {
      cwd: REPOSITORY,
      env: { ...process.env, USWARM_DATA_DIR: directory, USWARM_PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [npm.stdout, npm.stderr]) {
      stream?.setEncoding('utf8').on('data', (piece: string) => (output += piece));
    }
    await eventually(() => output.includes('Ctrl-C stops everything'), { description: 'npm start runs' });
    started = descendantsOf(npm.pid!);
  });
  afterEach(() => {
    for (const { pid } of started.filter(stillRuns)) process.kill(pid, 'SIGKILL');
    npm.kill('SIGKILL');
  });
  afterAll(() => rm(path.dirname(directory), { recursive: true, force: true }));

  const allEnded = () =>
    eventually(() => started.filter(stillRuns), { until: ({ length }) => length === 0, timeoutMs: 60_000 });

  it.each<NodeJS.Signals>(byTier({ core: ['SIGTERM', 'SIGKILL'], all: ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] }))(
    'stops the services, frees the port and the data folder, and keeps the data when npm alone gets %s',
    async (signal) => {
      const program = lockHolder();
      expect(started.map(({ pid }) => pid)).toContain(program);
      npm.kill(signal);
      await allEnded();
      expect(lockHolder()).toBeUndefined();
      await expect(checkPortFree({ port })).resolves.toBeUndefined();
      expect(existsSync(path.join(directory, 'format.json'))).toBe(true);
    },
  );

  it('stops the services when the process between npm and them is killed', async () => {
    const [command] = childrenOf(npm.pid!);
    process.kill(command!.pid, 'SIGKILL');
    await allEnded();
    expect(lockHolder()).toBeUndefined();
  });

  it('exits with 0 after SIGTERM, like after Ctrl-C', async () => {
    npm.kill('SIGTERM');
    const [code] = (await once(npm, 'close')) as [number | null];
    expect(code).toBe(0);
    expect(output).toMatch(/\nStopping\nEverything is stopped; your data is kept\.\n/);
  });
});

it('npm start goes on after the shell that started it in the background has ended', async () => {
  const directory = await newDataFolder();
  const port = await freePort();
  const env = { ...process.env, USWARM_DATA_DIR: directory, USWARM_PORT: String(port) };
  const log = `${directory}.log`;
  const shell = spawn('sh', ['-c', `nohup npm start > '${log}' 2>&1 & echo $!`], {
    cwd: REPOSITORY,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  shell.stdout.setEncoding('utf8');
  const [[pid], [code]] = (await Promise.all([once(shell.stdout, 'data'), once(shell, 'exit')])) as [
    [string],
    [number],
  ];
  expect(code).toBe(0);
  const runs = () => readFileSync(log, 'utf8').includes('Ctrl-C stops everything');
  await eventually(runs);
  const started = [identifyProcess(Number(pid)), ...descendantsOf(Number(pid))].filter((each) => each !== undefined);
  expect((await fetch(`http://127.0.0.1:${port}/v1/health`)).status).toBe(200);
  process.kill(Number(pid), 'SIGTERM');
  await eventually(() => started.filter(stillRuns), { until: ({ length }) => length === 0 });
  await rm(path.dirname(directory), { recursive: true, force: true });
});
