import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createRuntimePool } from '../../runtime-pool.js';
import type { RuntimeSpec } from '../driver.js';
import { createProcessDriver, type ProcessDriver, type ProcessDriverDeps } from './process-driver.js';
import { progressOf } from './process-progress.js';
import type { RuntimeProcess } from './runtime-processes.store.js';
import { NO_TRANSACTION } from '../../../../test/transaction.js';

const PATIENCE_MS = 250;
const RESPONSIVE = { unresponsive: false };
const LISTENS = `console.log('{"event":"listening","port":1}'); setInterval(() => {}, 1000);`;

let folder: string;
let drivers: ProcessDriver[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'slow-starts-'));
  drivers = [];
});
afterEach(async () => {
  await Promise.all(drivers.map((driver) => driver.stopAll()));
  rmSync(folder, { recursive: true, force: true });
});

function memoryProcesses(): ProcessDriverDeps['store'] {
  const known = new Map<string, RuntimeProcess>();
  return {
    getRuntimeProcess: async (_db, workspaceId) => known.get(workspaceId),
    listRuntimeProcesses: async () => [...known].map(([workspaceId, process]) => ({ workspaceId, ...process })),
    putRuntimeProcess: async (_db, workspaceId, process) => void known.set(workspaceId, process),
    deleteRuntimeProcess: async (_db, workspaceId) => void known.delete(workspaceId),
  };
}

const newSpec = (): RuntimeSpec => ({
  workspaceId: crypto.randomUUID(),
  userId: crypto.randomUUID(),
  suspended: false,
});

/** Writes a runtime program. Its `log` function appends a line to the test's log. */
function program(source: string): string {
  const file = path.join(folder, `${crypto.randomUUID()}.cjs`);
  const log = JSON.stringify(path.join(folder, 'log'));
  writeFileSync(file, `const log = (line) => require('node:fs').appendFileSync(${log}, line + '\\n');\n${source}`);
  return file;
}
const logged = (): string[] => {
  const file = path.join(folder, 'log');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

/** A program that listens after this much processor time. Some kernels count most of such a loop as system time. */
const working = (ms: number): string =>
  program(`const used = () => { const { user, system } = process.cpuUsage(); return user + system; };
    log('start'); while (used() < ${ms * 1_000}); log('end'); ${LISTENS}`);

function createDriver(source: string, options: Partial<ProcessDriverDeps> = {}): ProcessDriver {
  const driver = createProcessDriver({
    database: NO_TRANSACTION,
    store: memoryProcesses(),
    program: source,
    environment: (identity) => identity,
    pool: createRuntimePool({ places: 0, requestReconcile: () => undefined }),
    startPatienceMs: PATIENCE_MS,
    logger: silentLogger,
    ...options,
  });
  drivers.push(driver);
  return driver;
}

function pidsOf({ workspaceId }: RuntimeSpec): number[] {
  const runsFor = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`USWARM_WORKSPACE_ID=${workspaceId}\0`);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && runsFor(name))
    .map(Number);
}

describe('a runtime that starts slowly', () => {
  it('is not killed while it works for longer than the patience', async () => {
    const driver = createDriver(working(2 * PATIENCE_MS));
    expect(await driver.ensure(newSpec(), RESPONSIVE)).toMatchObject({ phase: 'Ready' });
    expect(logged()).toEqual(['start', 'end']);
  });

  it('is not killed while it gets a tenth of a processor', async () => {
    const spec = newSpec();
    const ready = createDriver(working(PATIENCE_MS), { startPatienceMs: 1_000 }).ensure(spec, RESPONSIVE);
    await eventually(() => logged().includes('start'));
    const [pid = 0] = pidsOf(spec);
    while (!logged().includes('end')) {
      process.kill(pid, 'SIGSTOP');
      await sleep(90);
      process.kill(pid, 'SIGCONT');
      await sleep(10);
    }
    expect(await ready).toMatchObject({ phase: 'Ready' });
    expect(logged()).toEqual(['start', 'end']);
  });

  it.each([
    ['does nothing', 'setInterval(() => {}, 100_000);', 'made no progress during its start'],
    ['works without an end', 'for (;;);', 'used too much processor time during its start'],
  ])('is killed if it %s', async (_what, source, reason) => {
    const spec = newSpec();
    await expect(createDriver(program(source)).ensure(spec, RESPONSIVE)).rejects.toThrow(reason);
    expect(pidsOf(spec)).toEqual([]);
  });
});

describe('runtimes that start together', () => {
  it('start one after another where only one may start, and all become ready without a second attempt', async () => {
    const driver = createDriver(working(PATIENCE_MS), { maxStarts: 1 });
    const specs = Array.from({ length: 5 }, newSpec);
    const observed = await Promise.all(specs.map((spec) => driver.ensure(spec, RESPONSIVE)));
    expect(observed.map(({ phase }) => phase)).toEqual(specs.map(() => 'Ready'));
    expect(logged()).toEqual(specs.flatMap(() => ['start', 'end']));
  });

  it('give their turn to the next one after a failed start', async () => {
    const driver = createDriver(program('process.exit(3);'), { maxStarts: 1 });
    const failures = [newSpec(), newSpec()].map((spec) => driver.ensure(spec, RESPONSIVE));
    for (const { status } of await Promise.allSettled(failures)) expect(status).toBe('rejected');
  });

  it('leave the queue when their reconcile is aborted', async () => {
    const gate = path.join(folder, 'gate');
    const waits = `setInterval(() => { if (require('node:fs').existsSync(${JSON.stringify(gate)})) { ${LISTENS} } }, 10);`;
    const driver = createDriver(program(`log('start'); ${waits}`), { maxStarts: 1, startPatienceMs: 60_000 });
    const first = driver.ensure(newSpec(), RESPONSIVE);
    await eventually(() => logged().includes('start'));
    const reconcile = new AbortController();
    const second = driver.ensure(newSpec(), { ...RESPONSIVE, signal: reconcile.signal });
    reconcile.abort(new Error('the lease is lost'));
    await expect(second).rejects.toThrow('the lease is lost');
    writeFileSync(gate, '');
    expect(await first).toMatchObject({ phase: 'Ready' });
  });
});

describe('a runtime that does not answer', () => {
  const UNRESPONSIVE = { unresponsive: true };

  it('is not replaced while it waits for a processor, but after it has worked for long without an answer', async () => {
    const spec = newSpec();
    const driver = createDriver(
      program(`console.log('{"event":"listening","port":1}'); setTimeout(() => { for (;;); }, 1);`),
    );
    await driver.ensure(spec, RESPONSIVE);
    const [pid] = pidsOf(spec);
    await eventually(() => (progressOf(pid ?? 0)?.processorMs ?? 0) > 0 && progressOf(pid ?? 0)?.isHeldUp);
    expect(await driver.ensure(spec, UNRESPONSIVE)).toMatchObject({ phase: 'Ready' });
    expect(pidsOf(spec)).toEqual([pid]);
    await eventually(async () => {
      await driver.ensure(spec, UNRESPONSIVE);
      return !pidsOf(spec).includes(pid ?? 0);
    });
  });

  it('is replaced immediately if it could answer', async () => {
    const spec = newSpec();
    const driver = createDriver(program(LISTENS));
    await driver.ensure(spec, RESPONSIVE);
    const [pid] = pidsOf(spec);
    await eventually(() => progressOf(pid ?? 0)?.isHeldUp === false);
    await driver.ensure(spec, UNRESPONSIVE);
    expect(pidsOf(spec)).not.toContain(pid);
  });
});

it('a runtime whose log cannot be opened starts without one', async () => {
  const notAFolder = path.join(folder, 'file');
  writeFileSync(notAFolder, '');
  const driver = createDriver(program(LISTENS), { logDirectory: path.join(notAFolder, 'logs') });
  expect(await driver.ensure(newSpec(), RESPONSIVE)).toMatchObject({ phase: 'Ready' });
});
