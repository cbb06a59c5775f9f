import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type RunningPostgres, startPostgres } from './postgres.js';
import { type RunningStandby, startStandby } from './standby.js';

describe('startStandby', () => {
  let folder: string;
  let primary: RunningPostgres;
  let standby: RunningStandby;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-standby-'));
    // Postgres runs as another user if we are root.
    await chmod(folder, 0o755);
    primary = await startPostgres({ directory: join(folder, 'primary'), durable: false });
    await query(primary, 'CREATE TABLE entries (id int PRIMARY KEY)');
    standby = await startStandby({ primary, directory: join(folder, 'standby') });
  });
  afterAll(async () => {
    await standby?.close();
    await primary?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function query(server: RunningPostgres, sql: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }
  const timeline = (server: RunningPostgres) => query(server, 'SELECT timeline_id AS id FROM pg_control_checkpoint()');

  it('receives what the primary commits, and continues on another timeline when it is promoted', async () => {
    await query(primary, 'INSERT INTO entries VALUES (1)');
    while ((await query(standby, 'SELECT FROM entries')).length === 0);
    await primary.close();
    await standby.promote();
    await query(standby, 'INSERT INTO entries VALUES (2)');
    await query(standby, 'CHECKPOINT');
    expect(await query(standby, 'SELECT id FROM entries ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await timeline(standby)).toEqual([{ id: 2 }]);
  });

  it('is a primary server after its promotion that startPostgres starts again', async () => {
    const { port } = standby;
    await standby.close();
    primary = await startPostgres({ directory: join(folder, 'standby'), port, durable: false });
    await query(primary, 'INSERT INTO entries VALUES (3)');
    expect({ url: primary.url, entries: await query(primary, 'SELECT id FROM entries ORDER BY id') }).toEqual({
      url: standby.url,
      entries: [{ id: 1 }, { id: 2 }, { id: 3 }],
    });
  });
});
