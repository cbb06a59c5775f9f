import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateCallKeys, type Logger } from '@uswarm/service-kit';
import { identifyProcess } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { programFile } from '@uswarm/testkit/program-file';
import { createMigratedDatabase, type MigratedDatabase } from '../../../../test/database.js';
import { createRuntimeClient, type PoolClient, type RuntimeClient } from '../../runtime-client.js';
import { createRuntimePool } from '../../runtime-pool.js';
import type { RuntimeSpec } from '../driver.js';
import { createProcessDriver, type ProcessDriver } from './process-driver.js';
import { runtimeEnvironment } from './runtime-environment.js';
import { getRuntimeProcess, putRuntimeProcess } from './runtime-processes.store.js';
import * as runtimeProcessRecords from './runtime-processes.store.js';

const { privateKey } = generateCallKeys();
const RESPONSIVE = { unresponsive: false };
const runs = (pid: number): boolean => identifyProcess(pid) !== undefined;

interface Waiting {
  member: string;
  pid: number;
}

describe('runtime processes that wait for a workspace', () => {
  let db: MigratedDatabase;
  let client: RuntimeClient & PoolClient;
  let logs: string;
  let drivers: ProcessDriver[] = [];
  /** Every process that has waited, in the order of their starts. */
  let waited: Waiting[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    client = createRuntimeClient([privateKey]);
  });
  beforeEach(() => {
    logs = mkdtempSync(path.join(tmpdir(), 'uswarm-runtimes-'));
  });
  afterEach(async () => {
    for (const driver of drivers) {
      await driver.close();
      await driver.stopAll();
    }
    [drivers, waited] = [[], []];
    rmSync(logs, { recursive: true });
  });
  afterAll(async () => {
    client.close();
    await db.close();
  });

  const logger = {
    info(fields: Partial<Waiting>, message: string) {
      if (message.includes('waits for a workspace')) waited.push(fields as Waiting);
    },
    warn: () => undefined,
  } as unknown as Logger;

  function createDriver(size: number, bind: PoolClient['bind'] = client.bind): ProcessDriver {
    const driver = createProcessDriver({
      database: db.database,
      store: runtimeProcessRecords,
      program: programFile('services/agent-runtime/dist/main.js'),
      environment: runtimeEnvironment({
        callPrivateKey: privateKey,
        mcpEndpoint: undefined,
        modelGatewayUrl: undefined,
        logLevel: 'info',
        environment: {},
      }),
      logDirectory: logs,
      pool: createRuntimePool({ places: 0, requestReconcile: () => undefined }),
      startPatienceMs: 15_000,
      warm: {
        size,
        bind: ({ member, port }, workspaceId) => bind({ member, address: `http://127.0.0.1:${port}` }, workspaceId),
      },
      logger,
    });
    drivers.push(driver);
    driver.warmUp();
    return driver;
  }
  const newSpec = (): RuntimeSpec => ({
    workspaceId: crypto.randomUUID(),
    userId: crypto.randomUUID(),
    suspended: false,
  });
  const waitedOnes = (count: number): Promise<Waiting[]> =>
    eventually(() => waited, { until: ({ length }) => length >= count });
  const serves = async ({ workspaceId }: RuntimeSpec, address: string | null): Promise<string> =>
    (await client.identify({ workspaceId, address: address ?? '' })).instanceId;
  const rowOf = ({ workspaceId }: RuntimeSpec) => getRuntimeProcess(db.database, workspaceId);
  const exited = (pid: number) => eventually(() => runs(pid), { until: (alive) => !alive });

  it('serve a workspace each, and are replaced', async () => {
    const driver = createDriver(1);
    const [spec, other] = [newSpec(), newSpec()];
    const [first] = await waitedOnes(1);
    expect(await serves(spec, (await driver.ensure(spec, RESPONSIVE)).address)).not.toBe('');
    expect(await rowOf(spec)).toMatchObject({ pid: first?.pid, poolMember: first?.member });
    const [, second] = await waitedOnes(2);
    expect(await serves(other, (await driver.ensure(other, RESPONSIVE)).address)).not.toBe('');
    expect(await rowOf(other)).toMatchObject({ pid: second?.pid, poolMember: second?.member });
    expect(second?.pid).not.toBe(first?.pid);
  });

  it('are not waited for: a burst starts further processes', async () => {
    const driver = createDriver(1);
    await waitedOnes(1);
    const specs = [newSpec(), newSpec(), newSpec()];
    const observed = await Promise.all(specs.map((spec) => driver.ensure(spec, RESPONSIVE)));
    await Promise.all(specs.map((spec, index) => serves(spec, observed[index]?.address ?? null)));
    const rows = await Promise.all(specs.map(rowOf));
    expect(rows.filter((row) => row?.poolMember === null)).toHaveLength(2);
  });

  it('are adopted and stopped by another orchestrator once they serve a workspace', async () => {
    const spec = newSpec();
    const driver = createDriver(1);
    const [first] = await waitedOnes(1);
    const started = await driver.ensure(spec, RESPONSIVE);
    const other = createDriver(0);
    expect(await other.ensure(spec, RESPONSIVE)).toEqual(started);
    await other.ensure({ ...spec, suspended: true }, RESPONSIVE);
    await exited(first?.pid ?? 0);
    expect(await rowOf(spec)).toBeUndefined();
  });

  it('are not taken for the runtime of a workspace by their process id', async () => {
    const spec = newSpec();
    const driver = createDriver(1);
    const [first] = await waitedOnes(1);
    const { pid } = first ?? { pid: 0 };
    // As if the id of an ended runtime was used again.
    for (const poolMember of [null, 'pool-of-an-ended-process']) {
      await putRuntimeProcess(db.database, spec.workspaceId, { pid, port: 1, poolMember });
      await driver.remove(spec.workspaceId);
      expect(runs(pid)).toBe(true);
    }
  });

  it('are replaced by a new process if they were killed, or cannot be bound', async () => {
    const spec = newSpec();
    const driver = createDriver(1, () => Promise.reject(new Error('cannot be bound')));
    const [first] = await waitedOnes(1);
    expect(await serves(spec, (await driver.ensure(spec, RESPONSIVE)).address)).not.toBe('');
    expect(await rowOf(spec)).toMatchObject({ poolMember: null });
    await exited(first?.pid ?? 0);
    const [, second] = await waitedOnes(2);
    process.kill(second?.pid ?? 0, 'SIGKILL');
    await exited(second?.pid ?? 0);
    const other = newSpec();
    expect(await serves(other, (await driver.ensure(other, RESPONSIVE)).address)).not.toBe('');
  });

  it('end when the driver is closed, except those that serve a workspace', async () => {
    const spec = newSpec();
    const driver = createDriver(1);
    await waitedOnes(1);
    const { address } = await driver.ensure(spec, RESPONSIVE);
    const [, second] = await waitedOnes(2);
    await driver.close();
    expect(runs(second?.pid ?? 0)).toBe(false);
    expect(await serves(spec, address)).not.toBe('');
    expect(readdirSync(logs)).toEqual([`${spec.workspaceId}.log`]);
  });

  it('leave no log after their orchestrator was killed and the next one has stopped all', async () => {
    writeFileSync(path.join(logs, 'pool-of-a-killed-orchestrator.log'), '');
    writeFileSync(path.join(logs, 'workspace.log'), '');
    await createDriver(0).stopAll();
    expect(readdirSync(logs)).toEqual(['workspace.log']);
  });

  it('write to the log of their workspace, whose earlier one is kept', async () => {
    const spec = newSpec();
    const file = (name: string) => path.join(logs, `${spec.workspaceId}${name}.log`);
    writeFileSync(file(''), 'earlier\n');
    const driver = createDriver(1);
    const [first] = await waitedOnes(1);
    await driver.ensure(spec, RESPONSIVE);
    expect(readFileSync(file('.1'), 'utf8')).toBe('earlier\n');
    await eventually(() => readFileSync(file(''), 'utf8').includes('"msg":"bound"'));
    expect(existsSync(path.join(logs, `${first?.member}.log`))).toBe(false);
  });
});
