import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateCallKeys, silentLogger } from '@uswarm/service-kit';
import { identifyProcess } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { programFile } from '@uswarm/testkit/program-file';
import { createMigratedDatabase, type MigratedDatabase } from '../../../../test/database.js';
import { createProcessDriver, type ProcessDriver, type ProcessDriverDeps } from './process-driver.js';
import { progressOf } from './process-progress.js';
import { createRuntimePool } from '../../runtime-pool.js';
import { createRuntimeClient, type RuntimeClient } from '../../runtime-client.js';
import type { RuntimeSpec } from '../driver.js';
import { runtimeEnvironment } from './runtime-environment.js';
import { getRuntimeProcess, putRuntimeProcess } from './runtime-processes.store.js';
import * as runtimeProcessRecords from './runtime-processes.store.js';

const AGENT_RUNTIME = programFile('services/agent-runtime/dist/main.js');
const { privateKey } = generateCallKeys();
const RESPONSIVE = { unresponsive: false };
const runs = (pid: number): boolean => identifyProcess(pid) !== undefined;

describe('runtimes as processes', () => {
  let db: MigratedDatabase;
  let client: RuntimeClient;
  let folder: string;
  let spec: RuntimeSpec;
  let drivers: ProcessDriver[] = [];
  let otherProcesses: ChildProcess[] = [];
  /** Workspaces that got or lost a place. */
  let requested: string[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    client = createRuntimeClient([privateKey]);
    folder = mkdtempSync(path.join(tmpdir(), 'uswarm-runtimes-'));
  });
  beforeEach(() => {
    spec = { workspaceId: crypto.randomUUID(), userId: crypto.randomUUID(), suspended: false };
  });
  afterEach(async () => {
    await Promise.all(drivers.map((driver) => driver.stopAll()));
    for (const other of otherProcesses) other.kill('SIGKILL');
    [drivers, otherProcesses, requested] = [[], [], []];
  });
  afterAll(async () => {
    client.close();
    rmSync(folder, { recursive: true });
    await db.close();
  });

  const createDriver = (
    program = AGENT_RUNTIME,
    places = 0,
    store: ProcessDriverDeps['store'] = runtimeProcessRecords,
  ): ProcessDriver => {
    const environment = runtimeEnvironment({
      callPrivateKey: privateKey,
      mcpEndpoint: undefined,
      modelGatewayUrl: undefined,
      logLevel: 'silent',
      environment: {},
    });
    const pool = createRuntimePool({ places, requestReconcile: (workspaceId) => void requested.push(workspaceId) });
    const startPatienceMs = 15_000;
    const driver = createProcessDriver({
      database: db.database,
      store,
      program,
      environment,
      pool,
      startPatienceMs,
      logger: silentLogger,
    });
    drivers.push(driver);
    return driver;
  };
  const pidNow = async (): Promise<number> => {
    const known = await getRuntimeProcess(db.database, spec.workspaceId);
    if (known === undefined) throw new Error('no runtime is known');
    return known.pid;
  };
  const instance = async (address: string | null): Promise<string> => {
    if (address === null) throw new Error('the runtime has no address');
    return (await client.identify({ workspaceId: spec.workspaceId, address })).instanceId;
  };
  const exited = (pid: number) => eventually(() => runs(pid), { until: (alive) => !alive });
  /** Starts a process that is not a runtime, and stores its pid as the runtime's. */
  const startOtherProcess = async (): Promise<number> => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    otherProcesses.push(child);
    const { pid } = child;
    if (pid === undefined) throw new Error('the process did not start');
    await putRuntimeProcess(db.database, spec.workspaceId, { pid, port: 1, poolMember: null });
    return pid;
  };

  it('starts a runtime that responds for its workspace', async () => {
    const observed = await createDriver().ensure(spec, RESPONSIVE);
    expect(observed).toMatchObject({ phase: 'Ready', reason: '' });
    expect(await instance(observed.address)).not.toBe('');
  });

  it('adopts a running runtime, also in another orchestrator', async () => {
    const driver = createDriver();
    const started = await driver.ensure(spec, RESPONSIVE);
    const instanceBefore = await instance(started.address);
    for (const again of [driver, createDriver()]) {
      const adopted = await again.ensure(spec, RESPONSIVE);
      expect(adopted).toEqual(started);
      expect(await instance(adopted.address)).toBe(instanceBefore);
    }
  });

  it('reports a killed runtime as changed, and starts it again', async () => {
    const driver = createDriver();
    const changed: string[] = [];
    driver.onChange((workspaceId) => changed.push(workspaceId));
    const instanceBefore = await instance((await driver.ensure(spec, RESPONSIVE)).address);
    process.kill(await pidNow(), 'SIGKILL');
    await eventually(() => changed, { until: ({ length }) => length > 0 });
    expect(changed).toEqual([spec.workspaceId]);
    expect(await instance((await driver.ensure(spec, RESPONSIVE)).address)).not.toBe(instanceBefore);
  });

  it('replaces an unresponsive runtime', async () => {
    const driver = createDriver();
    const instanceBefore = await instance((await driver.ensure(spec, RESPONSIVE)).address);
    const pid = await pidNow();
    process.kill(pid, 'SIGSTOP');
    // The signal takes effect a moment later.
    await eventually(() => progressOf(pid)?.isHeldUp !== true);
    const replaced = await driver.ensure(spec, { unresponsive: true });
    expect(await instance(replaced.address)).not.toBe(instanceBefore);
    expect(await pidNow()).not.toBe(pid);
    await exited(pid);
  });

  it('stops a runtime on suspension, and starts it on resume', async () => {
    const driver = createDriver();
    const instanceBefore = await instance((await driver.ensure(spec, RESPONSIVE)).address);
    const pid = await pidNow();
    for (let time = 0; time < 2; time += 1) {
      expect(await driver.ensure({ ...spec, suspended: true }, RESPONSIVE)).toMatchObject({
        phase: 'Suspended',
        address: null,
      });
    }
    await exited(pid);
    expect(await instance((await driver.ensure(spec, RESPONSIVE)).address)).not.toBe(instanceBefore);
  });

  it('peek returns the result of ensure, and undefined if the process differs from the spec', async () => {
    const driver = createDriver();
    const peek = async (suspended: boolean) => (await driver.peek([{ ...spec, suspended }])).get(spec.workspaceId);
    expect(await peek(false)).toBeUndefined();
    expect(await peek(true)).toMatchObject({ phase: 'Suspended' });
    const started = await driver.ensure(spec, RESPONSIVE);
    expect(await peek(false)).toEqual(started);
    expect(await peek(true)).toBeUndefined();
    const pid = await pidNow();
    process.kill(pid, 'SIGKILL');
    await exited(pid);
    expect(await peek(false)).toBeUndefined();
  });

  describe('with one place', () => {
    const QUEUED = { phase: 'Progressing', reason: 'Queued', address: null, current: true };
    let other: RuntimeSpec;
    beforeEach(() => {
      other = { ...spec, workspaceId: crypto.randomUUID() };
    });
    const oneAfterAnother = async () => {
      const driver = createDriver(AGENT_RUNTIME, 1);
      const first = await driver.ensure(spec, RESPONSIVE);
      expect(await driver.ensure(other, RESPONSIVE)).toEqual(QUEUED);
      return { driver, first };
    };

    /** A program that runs `source` when the test lets it proceed. */
    const slowProgram = (source: string) => {
      const [program, pidFile, proceedFile] = ['cjs', 'pid', 'proceed'].map((suffix) =>
        path.join(folder, `${spec.workspaceId}.${suffix}`),
      ) as [string, string, string];
      writeFileSync(
        program,
        `const { existsSync, writeFileSync } = require('node:fs');
        writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
        let waits = true;
        setInterval(() => {
          if (!waits || !existsSync(${JSON.stringify(proceedFile)})) return;
          waits = false;
          ${source};
        }, 10);`,
      );
      return {
        program,
        started: () =>
          eventually(() => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0), {
            until: (pid) => pid > 0,
          }),
        proceed: () => writeFileSync(proceedFile, ''),
      };
    };

    it('queues a second runtime until the first one is suspended, and reports both changes', async () => {
      const { driver, first } = await oneAfterAnother();
      expect(await driver.peek([spec, other])).toEqual(
        new Map<string, object>([
          [spec.workspaceId, { ...first, outdated: true }],
          [other.workspaceId, QUEUED],
        ]),
      );
      expect(requested).toEqual([spec.workspaceId]);
      await driver.ensure({ ...spec, suspended: true }, RESPONSIVE);
      expect(requested).toEqual([spec.workspaceId, other.workspaceId]);
      expect((await driver.peek([other])).size).toBe(0);
      expect(await driver.ensure(other, RESPONSIVE)).toMatchObject({ phase: 'Ready' });
    });

    it('gives the place of a removed runtime to the next one', async () => {
      const { driver } = await oneAfterAnother();
      await driver.remove(spec.workspaceId);
      expect(await driver.ensure(other, RESPONSIVE)).toMatchObject({ phase: 'Ready' });
    });

    it('starts a crashed runtime again in its place', async () => {
      const { driver } = await oneAfterAnother();
      const pid = await pidNow();
      process.kill(pid, 'SIGKILL');
      await exited(pid);
      expect(await driver.ensure(other, RESPONSIVE)).toEqual(QUEUED);
      expect(await driver.ensure(spec, RESPONSIVE)).toMatchObject({ phase: 'Ready' });
    });

    it('starts one process for two concurrent calls', async () => {
      const driver = createDriver(AGENT_RUNTIME, 1);
      const [first, second] = await Promise.all([driver.ensure(spec, RESPONSIVE), driver.ensure(spec, RESPONSIVE)]);
      expect(second).toEqual(first);
    });

    it('stops a runtime that is suspended during its start', async () => {
      const { program, started, proceed } = slowProgram(`console.log('{"event":"listening","port":1}')`);
      const driver = createDriver(program, 1);
      const starting = driver.ensure(spec, RESPONSIVE);
      const pid = await started();
      expect(await driver.ensure(other, RESPONSIVE)).toEqual(QUEUED);
      const suspending = driver.ensure({ ...spec, suspended: true }, RESPONSIVE);
      proceed();
      expect(await starting).toMatchObject({ phase: 'Ready' });
      await suspending;
      await exited(pid);
      expect(requested.at(-1)).toBe(other.workspaceId);
    });

    it('lets another runtime start first if a start fails', async () => {
      const { program, started, proceed } = slowProgram('process.exit(3)');
      const driver = createDriver(program, 1);
      const failed = driver.ensure(spec, RESPONSIVE).catch((error: unknown) => String(error));
      await started();
      expect(await driver.ensure(other, RESPONSIVE)).toEqual(QUEUED);
      proceed();
      expect(await failed).toContain('exited during its start');
      expect(await driver.ensure(spec, RESPONSIVE)).toEqual(QUEUED);
      expect(requested.at(-1)).toBe(other.workspaceId);
    });
  });

  it('stops a removed runtime and deletes its row', async () => {
    const driver = createDriver();
    await driver.ensure(spec, RESPONSIVE);
    const pid = await pidNow();
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    await exited(pid);
    expect(await getRuntimeProcess(db.database, spec.workspaceId)).toBeUndefined();
  });

  it('reports a runtime that never existed as removed', async () => {
    expect(await createDriver().remove(spec.workspaceId)).toBe(true);
  });

  it.each([
    ['prints nonsense', 'console.log("hello"); setInterval(() => {}, 1000);'],
    ['prints another object', 'console.log(JSON.stringify({ event: "listening" })); setInterval(() => {}, 1000);'],
    ['exits', 'process.exit(3);'],
  ])('fails if the program %s, and leaves neither a process nor a row', async (_what, source) => {
    const pidFile = path.join(folder, `${spec.workspaceId}.pid`);
    const program = path.join(folder, `${spec.workspaceId}.cjs`);
    writeFileSync(
      program,
      `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));\n${source}\n`,
    );
    await expect(createDriver(program).ensure(spec, RESPONSIVE)).rejects.toThrow();
    const pid = Number(readFileSync(pidFile, 'utf8'));
    expect(await exited(pid)).toBe(false);
    expect(await getRuntimeProcess(db.database, spec.workspaceId)).toBeUndefined();
  });

  it('stops a runtime that could not be stored', async () => {
    const started: number[] = [];
    const failing: typeof putRuntimeProcess = async (_db, _workspaceId, { pid }) => {
      started.push(pid);
      throw new Error('the database is unavailable');
    };
    const driver = createDriver(AGENT_RUNTIME, 0, { ...runtimeProcessRecords, putRuntimeProcess: failing });
    await expect(driver.ensure(spec, RESPONSIVE)).rejects.toThrow('the database is unavailable');
    expect(started.map(runs)).toEqual([false]);
  });

  it('does not signal a reused process id on removal', async () => {
    const pid = await startOtherProcess();
    expect(await createDriver().remove(spec.workspaceId)).toBe(true);
    expect(runs(pid)).toBe(true);
    expect(await getRuntimeProcess(db.database, spec.workspaceId)).toBeUndefined();
  });

  it('neither adopts nor signals a reused process id', async () => {
    const pid = await startOtherProcess();
    const observed = await createDriver().ensure(spec, { unresponsive: true });
    expect(await instance(observed.address)).not.toBe('');
    expect(await pidNow()).not.toBe(pid);
    expect(runs(pid)).toBe(true);
  });
});
