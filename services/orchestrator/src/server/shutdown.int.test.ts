import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Conversation, Workspace } from '@uswarm/contract';
import { type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase, describeWith, type TestDatabase } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { type ApiClient, createApiClient } from '../../test/api-client.js';
import { type EntryPoint, startEntryPoint } from '../../test/entry-point.js';
import { first, testEnvironment } from '../../test/test-orchestrator.js';
import { beginUpload } from '../../test/uploads.js';
import { type Database, openDatabase } from '../platform/database/database.js';

describeWith('valkey', 'the shutdown of the orchestrator', () => {
  let issuer: OidcIssuer;
  let testDatabase: TestDatabase;
  let database: Database;
  let program: EntryPoint;
  let url: string;
  let user: ApiClient;
  beforeAll(async () => {
    issuer = await startOidcIssuer();
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url, maxConnections: 4 });
    program = startEntryPoint('main', testEnvironment(testDatabase.url, issuer));
    url = await program.listening;
    user = createApiClient(url, { 'x-token': await issuer.issueToken({ email: 'ada@example.com', name: 'Ada' }) });
    await user.post('/v1/auth/sign-up', undefined, 204);
  });
  afterEach(() => program.stop());
  afterAll(async () => {
    await database.destroy();
    await issuer.close();
    await testDatabase.drop();
  });

  const refusesConnections = (): Promise<boolean> =>
    fetch(`${url}/v1/health`, { headers: { connection: 'close' } }).then(
      () => false,
      () => true,
    );
  const waitsForLock = async (): Promise<boolean> => {
    const { rows } = await sql`
      SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'uswarm-orchestrator'
        AND datname = current_database()`.execute(database);
    return rows.length > 0;
  };

  it('completes the requests in flight, accepts no new ones, and exits', async () => {
    const { id } = first((await user.get<{ data: Workspace[] }>('/v1/workspaces')).body.data);
    const workspace = `/v1/workspaces/${id}`;
    const conversation = first((await user.get<{ data: Conversation[] }>(`${workspace}/conversations`)).body.data);
    const upload = await beginUpload(url, user);
    const localId = randomUUID();
    const [locked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = database.transaction().execute(async (tx) => {
      await sql`SELECT 1 FROM workspaces WHERE id = ${id} FOR UPDATE`.execute(tx);
      locked.resolve();
      await held.promise;
    });
    await locked.promise;
    const sent = user.post(
      `${workspace}/conversations/${conversation.id}/messages`,
      { local_id: localId, content: { type: 'text', text: 'just in time' } },
      201,
    );
    expect(await eventually(waitsForLock, { until: Boolean })).toBe(true);

    const stopped = program.stop();
    expect(await eventually(refusesConnections, { until: Boolean })).toBe(true);
    // Both requests are still in progress.
    expect(upload.answered()).toBeUndefined();
    await upload.send(Buffer.from('the rest'));
    await upload.end();
    held.resolve();
    await holding;
    const { headers } = await sent;
    expect(headers['connection']).toBe('close');
    expect(await eventually(upload.answered, { until: (text) => text?.includes('\r\n\r\n') === true })).toMatch(
      /^HTTP\/1\.1 201 /,
    );
    await stopped;
    expect(await program.exitCode).toBe(0);
    const stored = await database.selectFrom('messages').select('id').where('local_id', '=', localId).execute();
    expect(stored).toHaveLength(1);
    expect(program.lines.filter((line) => line.includes('did not stop cleanly'))).toEqual([]);
  });
});
