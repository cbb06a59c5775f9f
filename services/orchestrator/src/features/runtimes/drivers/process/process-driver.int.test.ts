import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateCallKeys, silentLogger } from '@uswarm/service-kit';
import { identifyProcess } from '@uswarm/testkit';
import { createMigratedDatabase, type MigratedDatabase } from '../../../../../test/database.js';
import { eventually } from '../../../../../test/eventually.js';
import { createProcessDriver, type ProcessDriver } from './process-driver.js';
import { createRuntimeClient, type RuntimeClient } from '../../runtime-client.js';
import type { RuntimeSpec } from '../driver.js';
import { runtimeEnvironment } from './runtime-environment.js';
import { createRuntimeProcessStore, type RuntimeProcessStore } from './runtime-processes.store.js';

const AGENT_RUNTIME = fileURLToPath(new URL('../../../../../../agent-runtime/dist/main.js', import.meta.url));
const { privateKey } = generateCallKeys();
const RESPONSIVE = { unresponsive: false };
const runs = (pid: number): boolean => identifyProcess(pid) !== undefined;

describe('runtimes as processes', () => {
  let db: MigratedDatabase;
  let store: RuntimeProcessStore;
  let client: RuntimeClient;
  let folder: string;
  let spec: RuntimeSpec;
  let drivers: ProcessDriver[] = [];
  let strangers: ChildProcess[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    store = createRuntimeProcessStore(db.database);
    client = createRuntimeClient([privateKey]);
    folder = mkdtempSync(path.join(tmpdir(), 'uswarm-runtimes-'));
  });
  beforeEach(() => {
    spec = { workspaceId: crypto.randomUUID(), userId: crypto.randomUUID(), suspended: false };
  });
  afterEach(async () => {
    await Promise.all(drivers.map((driver) => driver.stopAll()));
    for (const stranger of strangers) stranger.kill('SIGKILL');
    [drivers, strangers] = [[], []];
  });
  afterAll(async () => {
    client.close();
    rmSync(folder, { recursive: true });
    await db.close();
  });

  /** A driver as an orchestrator has it; what it knows is in the table. */
  const createDriver = (program = AGENT_RUNTIME): ProcessDriver => {
    const environment = runtimeEnvironment({
      callPrivateKey: privateKey,
      mcpEndpoint: undefined,
      logLevel: 'silent',
      environment: {},
    });
    const driver = createProcessDriver({ store, program, environment, logger: silentLogger });
    drivers.push(driver);
    return driver;
  };
  const pidNow = async (): Promise<number> => {
    const known = await store.get(spec.workspaceId);
    if (known === undefined) throw new Error('no runtime is known');
    return known.pid;
  };
  const instance = async (address: string | null): Promise<string> => {
    if (address === null) throw new Error('the runtime has no address');
    return (await client.identify({ workspaceId: spec.workspaceId, address })).instanceId;
  };
  const gone = (pid: number) =>
    eventually(
      () => runs(pid),
      (alive) => !alive,
    );
  /** A process that is no runtime, under a pid that the table has. */
  const stranger = async (): Promise<number> => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    strangers.push(child);
    const { pid } = child;
    if (pid === undefined) throw new Error('the stranger did not start');
    await store.put(spec.workspaceId, { pid, port: 1 });
    return pid;
  };

  it('one is started, and answers for its workspace', async () => {
    const observed = await createDriver().ensure(spec, RESPONSIVE);
    expect(observed).toMatchObject({ phase: 'Ready', reason: '' });
    expect(await instance(observed.address)).not.toBe('');
  });

  it('one that runs is adopted, also by another orchestrator', async () => {
    const driver = createDriver();
    const started = await driver.ensure(spec, RESPONSIVE);
    const was = await instance(started.address);
    for (const again of [driver, createDriver()]) {
      const adopted = await again.ensure(spec, RESPONSIVE);
      expect([adopted, await instance(adopted.address)]).toEqual([started, was]);
    }
  });

  it('one that was killed is said to have changed, and started anew', async () => {
    const driver = createDriver();
    const changed: string[] = [];
    driver.onChange((workspaceId) => changed.push(workspaceId));
    const was = await instance((await driver.ensure(spec, RESPONSIVE)).address);
    process.kill(await pidNow(), 'SIGKILL');
    await eventually(
      () => changed,
      ({ length }) => length > 0,
    );
    expect(changed).toEqual([spec.workspaceId]);
    expect(await instance((await driver.ensure(spec, RESPONSIVE)).address)).not.toBe(was);
  });

  it('one that runs and does not answer is replaced', async () => {
    const driver = createDriver();
    const was = await instance((await driver.ensure(spec, RESPONSIVE)).address);
    const pid = await pidNow();
    process.kill(pid, 'SIGSTOP');
    const replaced = await driver.ensure(spec, { unresponsive: true });
    expect([(await instance(replaced.address)) === was, (await pidNow()) === pid, runs(pid)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('one that is to be suspended ends, and starts again when it is wanted', async () => {
    const driver = createDriver();
    const was = await instance((await driver.ensure(spec, RESPONSIVE)).address);
    const pid = await pidNow();
    for (let time = 0; time < 2; time += 1) {
      expect(await driver.ensure({ ...spec, suspended: true }, RESPONSIVE)).toMatchObject({
        phase: 'Suspended',
        address: null,
      });
    }
    expect(runs(pid)).toBe(false);
    expect(await instance((await driver.ensure(spec, RESPONSIVE)).address)).not.toBe(was);
  });

  it('peek sees what ensure would return, and nothing if the process is not as it should be', async () => {
    const driver = createDriver();
    const peek = async (suspended: boolean) => (await driver.peek([{ ...spec, suspended }])).get(spec.workspaceId);
    expect([await peek(false), (await peek(true))?.phase]).toEqual([undefined, 'Suspended']);
    const started = await driver.ensure(spec, RESPONSIVE);
    expect([await peek(false), await peek(true)]).toEqual([started, undefined]);
    const pid = await pidNow();
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    expect(await peek(false)).toBeUndefined();
  });

  it('one that is removed ends, and nothing of it stays', async () => {
    const driver = createDriver();
    await driver.ensure(spec, RESPONSIVE);
    const pid = await pidNow();
    expect(await driver.remove(spec.workspaceId)).toBe(true);
    expect([runs(pid), await store.get(spec.workspaceId)]).toEqual([false, undefined]);
  });

  it('one that was never there is removed already', async () => {
    expect(await createDriver().remove(spec.workspaceId)).toBe(true);
  });

  it.each([
    ['prints nonsense', 'console.log("hello"); setInterval(() => {}, 1000);'],
    ['prints another object', 'console.log(JSON.stringify({ event: "listening" })); setInterval(() => {}, 1000);'],
    ['ends', 'process.exit(3);'],
  ])('a program that %s is an error, and leaves neither a process nor a row', async (_what, source) => {
    const pidFile = path.join(folder, `${spec.workspaceId}.pid`);
    const program = path.join(folder, `${spec.workspaceId}.cjs`);
    writeFileSync(
      program,
      `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));\n${source}\n`,
    );
    await expect(createDriver(program).ensure(spec, RESPONSIVE)).rejects.toThrow();
    const pid = Number(readFileSync(pidFile, 'utf8'));
    expect([await gone(pid), await store.get(spec.workspaceId)]).toEqual([false, undefined]);
  });

  it('a pid that another program has now is not signalled by a removal', async () => {
    const pid = await stranger();
    expect(await createDriver().remove(spec.workspaceId)).toBe(true);
    expect([runs(pid), await store.get(spec.workspaceId)]).toEqual([true, undefined]);
  });

  it('a pid that another program has now is neither adopted nor signalled', async () => {
    const pid = await stranger();
    const observed = await createDriver().ensure(spec, { unresponsive: true });
    expect([(await instance(observed.address)) === '', (await pidNow()) === pid, runs(pid)]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
