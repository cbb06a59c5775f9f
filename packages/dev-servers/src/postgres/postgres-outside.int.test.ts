import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { postgresUser } from './postgres-home.js';
import { type RunningPostgres, startPostgres } from './postgres.js';

let root = '';
let servers: RunningPostgres[] = [];
let progress: string[] = [];
beforeEach(() => {
  // On the file system of `/var/lib`, because a database outside of its folder is linked to it.
  root = mkdtempSync('/var/tmp/postgres-outside-');
  [servers, progress] = [[], []];
});
afterEach(async () => {
  for (const server of servers) await server.close({ remove: true });
  rmSync(root, { recursive: true, force: true });
});

/** Starts the server of `<data>/postgres`, as local mode does. */
async function start(data: string): Promise<RunningPostgres> {
  const server = await startPostgres({
    directory: join(data, 'postgres'),
    ownFolder: data,
    durable: false,
    onProgress: (line) => progress.push(line),
  });
  servers.push(server);
  return server;
}

/** A data folder, which local mode creates for root alone. */
function dataFolder(): string {
  const data = join(root, 'data');
  mkdirSync(data, { mode: 0o700, recursive: true });
  return data;
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

const placeOf = (data: string): string =>
  (JSON.parse(readFileSync(join(data, 'postgres/cluster.json'), 'utf8')) as { data_directory: string }).data_directory;
const tables = "select count(*)::int from pg_tables where tablename = 'kept'";

const asRoot = process.getuid?.() === 0 ? describe : describe.skip;
asRoot('the database of root', () => {
  it('is in the data folder if the folders above can be entered', async () => {
    chmodSync(root, 0o755);
    const data = dataFolder();
    await start(data);
    expect(placeOf(data)).toBe(join(data, 'postgres/data'));
    expect(progress.at(-1)).toBe('Creating the database');
    // No one else may enter it.
    const { mode, uid, gid } = statSync(data);
    expect({ mode: mode & 0o777, uid, gid }).toEqual({ mode: 0o710, uid: 0, gid: postgresUser()?.gid });
  });

  it('is kept by a data folder that is moved', async () => {
    chmodSync(root, 0o755);
    const data = dataFolder();
    const first = await start(data);
    await query(first.url, 'create table kept ()');
    await first.close();
    servers = [];
    const moved = join(root, 'moved');
    renameSync(data, moved);
    expect(await query((await start(moved)).url, tables)).toEqual([1]);
  });

  describe('in a folder that its user may not enter', () => {
    const startOutside = async () => {
      const data = dataFolder();
      const server = await start(data);
      await query(server.url, 'create table kept ()');
      const home = dirname(placeOf(data));
      await server.close();
      servers = [];
      return { data, home };
    };

    it('is outside, and the start reports where and why', async () => {
      const { data, home } = await startOutside();
      expect(home).not.toContain(data);
      expect(progress.at(-1)).toMatch(
        /^It is in \/var\/lib\/uswarm\/\S+, because the user of Postgres \(\S+\) may not enter /,
      );
      expect(progress.at(-1)).toMatch(new RegExp(` ${root}$`));
    });

    it('is deleted at the next start after the data folder was deleted', async () => {
      const { data, home } = await startOutside();
      rmSync(data, { recursive: true });
      progress = [];
      const again = await start(dataFolder());
      expect(progress).toContain(`Deleting the database in ${home}, whose data folder was deleted`);
      expect({ home: existsSync(home), tables: await query(again.url, tables) }).toEqual({ home: false, tables: [0] });
    });

    it('is kept after the data folder was moved away, and its messages come back with it', async () => {
      const { data, home } = await startOutside();
      const moved = join(root, 'moved');
      renameSync(data, moved);
      const fresh = await start(dataFolder());
      expect({ home: existsSync(home), tables: await query(fresh.url, tables) }).toEqual({ home: true, tables: [0] });
      expect(await query((await start(moved)).url, tables)).toEqual([1]);
    });
  });
});
