import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type RunningPostgres, startPostgres } from '@uswarm/dev-servers';
import { CallFixture, EVENT_CREATED, INSERT, MAIL_SENT, SEND } from '../test/call-fixture.js';
import { killIfAlive } from '../test/separate.js';

describe('invariant 4: a call that changes another system leaves once if Postgres is killed', () => {
  const calls = new CallFixture();
  const { TEST_POSTGRES_URL: shared } = process.env;
  let folder: string;
  let postgres: RunningPostgres;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-postgres-'));
    // World-accessible, because Postgres runs as another user if we are root.
    await chmod(folder, 0o755);
    postgres = await startPostgres({ directory: join(folder, 'postgres') });
    process.env['TEST_POSTGRES_URL'] = postgres.url;
    await calls.start();
  });
  beforeEach(() => calls.newUser());
  afterEach(() => calls.user?.close());
  afterAll(async () => {
    await calls.close();
    process.env['TEST_POSTGRES_URL'] = shared;
    await postgres?.close({ remove: true });
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ['a mail', SEND, MAIL_SENT],
    ['an event', INSERT, EVENT_CREATED],
  ] as const)('between its execution and the commit of the answer: %s', async (_what, method, expected) => {
    await calls.requestWithoutAnswer(method);
    killIfAlive(postgres.pid);
    calls.servers.google.release();
    postgres = await startPostgres({ directory: join(folder, 'postgres'), port: postgres.port });
    expect(await calls.atTheEnd()).toEqual(expected);
  });
});
