import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { LocalError } from '../local-error.js';
import { identifyProcess, stillRuns } from '../processes.js';
import { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres.js';

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A folder of mode 0700, which the system user of Postgres cannot access. */
function privateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-test-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'postgres');
}

async function started(options: PostgresOptions): Promise<RunningPostgres> {
  const server = await startPostgres({ durable: false, ...options });
  closers.push(() => server.close({ remove: true }));
  return server;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

function dataDirectory(directory: string): string {
  const cluster = JSON.parse(readFileSync(join(directory, 'cluster.json'), 'utf8')) as { data_directory: string };
  return cluster.data_directory;
}

describe('startPostgres', () => {
  it('listens on loopback only and stores the password in a private file', async () => {
    const directory = privateFolder();
    const server = await started({ directory });
    expect(await query(server.url, 'show listen_addresses')).toEqual(['127.0.0.1']);
    expect(await query(server.url, 'select rolsuper from pg_roles where rolname = current_user')).toEqual([true]);
    expect(statSync(join(directory, 'cluster.json')).mode & 0o777).toBe(0o600);
    const withoutPassword = server.url.replace(/:[^:@/]+@/, ':wrong@');
    await expect(query(withoutPassword, 'select 1')).rejects.toThrow(/password authentication failed/);
  });

  it('keeps its data over a restart and rejects a second start', async () => {
    const directory = privateFolder();
    const first = await started({ directory });
    const url = await first.createDatabase('app');
    await query(url, 'create table kept as select 42 as answer');
    await expect(startPostgres({ directory })).rejects.toThrow(/is in use by process \d+; stop it first/);
    await first.close();
    const second = await started({ directory });
    expect(await query(await second.createDatabase('app'), 'select answer from kept')).toEqual([42]);
  });

  it('stops the server of a killed run and keeps its data', async () => {
    const directory = privateFolder();
    const orphan = await killedRun(directory);
    const identity = identifyProcess(orphan.pid);
    expect(identity).toBeDefined();
    const progress: string[] = [];
    const server = await started({ directory, onProgress: (line) => progress.push(line) });
    expect(progress).toContain('Stopping the database that an earlier run left behind');
    expect(identity !== undefined && stillRuns(identity)).toBe(false);
    expect(await query(server.url, 'select 1 from orphaned')).toEqual([1]);
  });

  it('starts again after the server itself was killed', async () => {
    const directory = privateFolder();
    const first = await started({ directory, durable: true });
    await query(first.url, 'create table written as select 1 as one');
    process.kill(first.pid, 'SIGKILL');
    await first.close();
    const second = await started({ directory });
    expect(await query(second.url, 'select one from written')).toEqual([1]);
  });

  it('starts a server again that was killed, at the same address, and does not start one that was closed', async () => {
    const directory = privateFolder();
    const progress: string[] = [];
    const { promise: runsAgain, resolve } = Promise.withResolvers<void>();
    const onProgress = (line: string): void => {
      progress.push(line);
      if (line === 'Postgres runs again') resolve();
    };
    const server = await started({ directory, durable: true, keepRunning: true, onProgress });
    await query(server.url, 'create table written as select 1 as one');
    process.kill(server.pid, 'SIGKILL');
    await runsAgain;
    expect(progress.slice(-2)).toEqual(['Postgres has ended; starting it again', 'Postgres runs again']);
    expect(await query(server.url, 'select one from written')).toEqual([1]);
    await server.close();
    await expect(query(server.url, 'select 1')).rejects.toThrow();
  });

  it('does not stop a foreign process whose id is in postmaster.pid', async () => {
    const directory = privateFolder();
    await (await started({ directory })).close();
    writeFileSync(join(dataDirectory(directory), 'postmaster.pid'), `${process.pid}\n`);
    const server = await started({ directory });
    expect(await query(server.url, 'select 1')).toEqual([1]);
  });

  it('reports data of another Postgres version', async () => {
    const directory = privateFolder();
    const server = await started({ directory });
    await server.close();
    writeFileSync(join(dataDirectory(directory), 'PG_VERSION'), '15\n');
    const start = startPostgres({ directory });
    await expect(start).rejects.toBeInstanceOf(LocalError);
    await expect(start).rejects.toThrow(/was created by Postgres 15, but this version runs Postgres 18/);
  });

  it('reports that the requested port is in use', async () => {
    const { port } = await started({ directory: privateFolder() });
    const directory = privateFolder();
    const start = startPostgres({ directory, port, durable: false });
    await expect(start).rejects.toThrow(`Postgres cannot use port ${port}: another program uses it.`);
    await (await started({ directory })).close({ remove: true });
  });
});

/** Runs a process that starts Postgres and writes a table, and kills it. */
async function killedRun(directory: string): Promise<{ pid: number }> {
  const script = join(directory, '..', 'run.mjs');
  writeFileSync(
    script,
    `const [devServer, pgModule, directory] = process.argv.slice(2);
     const { startPostgres } = await import(devServer);
     const { default: pg } = await import(pgModule);
     const server = await startPostgres({ directory, durable: false });
     const client = new pg.Client({ connectionString: server.url });
     await client.connect();
     await client.query('create table orphaned as select 1');
     process.send(server.pid);`,
  );
  const devServer = new URL('../../dist/postgres/postgres.js', import.meta.url).href;
  const pgModule = new URL('../../node_modules/pg/esm/index.mjs', import.meta.url).href;
  const child = fork(script, [devServer, pgModule, directory], { execArgv: [] });
  const [pid] = (await once(child, 'message')) as [number];
  child.kill('SIGKILL');
  await once(child, 'exit');
  return { pid };
}
