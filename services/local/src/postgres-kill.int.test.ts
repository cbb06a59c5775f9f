import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identifyProcess, type RunningPostgres, startPostgres } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import type { Card } from '../test/app-servers.js';
import { CallFixture, EVENT_CREATED, INSERT, MAIL_SENT, SEND } from '../test/call-fixture.js';
import { killIfAlive } from '../test/processes.js';

describe('invariant 4: a call that changes another system', () => {
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

  const restart = async (): Promise<void> => {
    // A killed process may run for some milliseconds on a busy machine.
    await eventually(() => identifyProcess(postgres.pid), { until: (running) => running === undefined });
    postgres = await startPostgres({ directory: join(folder, 'postgres'), port: postgres.port });
  };
  const killAndRestart = async (): Promise<void> => {
    killIfAlive(postgres.pid);
    await restart();
  };
  /** Makes a choice, as a client does: again while the service is unavailable. */
  const approve = (card: Card) =>
    eventually(() => calls.user.choose(card, 'approve'), { until: ({ status }) => status < 500 });

  it.each([
    ['a mail', SEND, MAIL_SENT],
    ['an event', INSERT, EVENT_CREATED],
  ] as const)(
    'leaves once if Postgres is killed between its execution and the commit of the answer: %s',
    async (_what, method, expected) => {
      await calls.requestWithoutAnswer(method);
      killIfAlive(postgres.pid);
      calls.servers.google.release();
      await restart();
      expect(await calls.atTheEnd()).toEqual(expected);
    },
  );

  it('leaves once if Postgres is killed in a text before the call', async () => {
    const end = await calls.writeText();
    await killAndRestart();
    end();
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it('leaves once if Postgres is killed while the model writes its arguments', async () => {
    await calls.writeArguments();
    killIfAlive(postgres.pid);
    calls.endArguments();
    await restart();
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it.each(['turn_entries', 'receipts'])(
    'leaves once if Postgres is killed before a row is inserted into %s',
    async (table) => {
      const unlock = await calls.blockAfterArguments(table);
      await killAndRestart();
      await unlock();
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    },
  );

  it('leaves once if Postgres is killed while the turn waits for the user', async () => {
    const card = await calls.ask();
    await killAndRestart();
    expect(await calls.ofWorkspace(`SELECT FROM work WHERE kind = 'turn' AND workspace_id = $1`)).toEqual([]);
    expect((await approve(card)).status).toBe(200);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it('leaves once if Postgres is killed before the choice of the user is committed, which is made again', async () => {
    const card = await calls.ask();
    const unlock = await calls.services.lockTable('turn_contexts');
    const lost = calls.user.choose(card, 'approve');
    await calls.services.untilBlocked();
    await killAndRestart();
    await unlock();
    expect((await lost).status).toBeGreaterThanOrEqual(500);
    expect(calls.mails()).toBe(0);
    expect((await approve(card)).status).toBe(200);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it('leaves once if Postgres is killed between the choice of the user and the next turn', async () => {
    const card = await calls.ask();
    const unlock = await calls.approveAndBlock(card);
    await killAndRestart();
    await unlock();
    expect((await approve(card)).status).toBe(200);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });
});
