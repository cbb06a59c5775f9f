import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError, type MessageData } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { rowsContaining } from '../../../test/database-rows.js';
import {
  first,
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { untilBlocked } from '../../../test/lock-waits.js';
import { download, linkRefusal, upload } from '../../../test/uploads.js';
import type { WithTransaction } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createStores, type Stores } from '../../../test/stores.js';
import { createMaintenanceWorkers } from '../../platform/jobs/maintenance-workers.js';
import { createLeaseKeeper } from '../../platform/jobs/lease-keeper.js';
import { createAttachments } from './attachments.js';
import { createFileObjects } from './file-objects.js';
import type { ObjectStore } from '../../records/object-store.js';
import { createUploadRetention, UPLOAD_JOB } from './upload-retention.js';
import { insertUpload } from './uploads.store.js';

const HOUR_MS = 3_600_000;

describe('the retention of uploads', () => {
  let uswarm: TestOrchestrator;
  let folder: string;
  let stores: Stores;
  let objects: ObjectStore;
  let user: TestUser;
  let userId: string;
  let home: Home;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-keeping-'));
    uswarm = await startTestOrchestrator({ environment: { OBJECT_DIRECTORY: folder } });
    stores = createStores(uswarm.database);
    objects = createFileObjects(folder);
  });
  afterAll(async () => {
    await uswarm.close();
    await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
    userId = await uswarm.idOf(user);
  });
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  const withTransaction: WithTransaction = (run) => createWithTransaction(uswarm.database)(run);
  const links = { url: (id: string) => `/v1/uploads/${id}` };
  const attach = (messageId: string, uploadIds: string[]) =>
    withTransaction(async (tx) => {
      const attachments = createAttachments({ links });
      const resolved = await attachments.resolve(userId, uploadIds, tx);
      await attachments.attach(messageId, resolved, tx);
      return resolved;
    });
  const send = async (): Promise<string> => {
    const draft = { content: { type: 'text', text: 'see the file' } };
    return (await user.post<{ data: MessageData }>(home.messages, draft, 201)).body.data.id;
  };
  const keeping = (store: ObjectStore = objects) =>
    createUploadRetention({ withTransaction, jobs: stores.jobs, objects: store });
  /** Runs the upload jobs as the orchestrator does, until the test ends. */
  const keep = (store?: ObjectStore): void => {
    const upkeep = createMaintenanceWorkers({
      store: stores.jobs,
      leases: createLeaseKeeper({ store: stores.jobs, logger: silentLogger }),
      logger: silentLogger,
      workers: 4,
      pollMs: 50,
      jobs: [{ type: UPLOAD_JOB, handle: keeping(store) }],
    });
    closers.push(upkeep.close);
  };
  const age = async (id: string, ms: number): Promise<void> => {
    const past = sql<Date>`now() - ${ms} * interval '1 millisecond'`;
    // kysely types created_at as read-only, and only this test changes it.
    await sql`UPDATE uploads SET created_at = ${past} WHERE id = ${id}`.execute(uswarm.database);
    await uswarm.database
      .updateTable('work')
      .set({ run_at: sql`now()` })
      .where('subject_id', '=', id)
      .execute();
  };
  /** An upload leaves a row, a job and a file. */
  const traces = async (id: string): Promise<string[]> => {
    const [row] = await uswarm.database.selectFrom('uploads').select('id').where('id', '=', id).execute();
    const [work] = await uswarm.database.selectFrom('work').select('kind').where('subject_id', '=', id).execute();
    const files = (await readdir(folder, { recursive: true })).some((name) => name.includes(id));
    return [...(row ? ['row'] : []), ...(work ? ['work'] : []), ...(files ? ['file'] : [])];
  };
  const gone = (id: string) => eventually(() => traces(id), { until: (found) => found.length === 0 });
  const settled = (id: string) => eventually(() => traces(id), { until: (found) => !found.includes('work') });

  it('a file without a message is deleted with its row after a day', async () => {
    const [old, young] = [await upload(user, { content: 'old' }), await upload(user, { content: 'young' })];
    await age(old.id, 24 * HOUR_MS);
    await age(young.id, 23 * HOUR_MS);
    keep();
    expect(await gone(old.id)).toEqual([]);
    expect(await traces(young.id)).toEqual(['row', 'work', 'file']);
  });

  it('a file of a message is kept without further checks', async () => {
    const { id, url } = await upload(user, { content: 'kept' });
    await attach(await send(), [id]);
    await age(id, 1_000 * HOUR_MS);
    keep();
    expect(await settled(id)).toEqual(['row', 'file']);
    expect(String((await download(uswarm.url, url)).bytes)).toBe('kept');
  });

  it.each([
    [
      'its message',
      'messages',
      () => sql`id = (SELECT max(id::text)::uuid FROM messages WHERE conversation_id = ${home.conversationId})`,
    ],
    ['its conversation', 'conversations', () => sql`id = ${home.conversationId}`],
    ['its workspace', 'workspaces', () => sql`id = ${home.workspaceId}`],
  ] as const)('a file is deleted immediately after the deletion of %s', async (_what, table, where) => {
    const { id } = await upload(user, { content: 'x' });
    await attach(await send(), [id]);
    keep();
    await age(id, 0);
    expect(await settled(id)).toEqual(['row', 'file']);
    await sql`DELETE FROM ${sql.table(table)} WHERE ${where()}`.execute(uswarm.database);
    expect(await gone(id)).toEqual([]);
  });

  it('a file of two messages is kept for the second one', async () => {
    const { id } = await upload(user, { content: 'x' });
    const [one, two] = [await send(), await send()];
    for (const message of [one, two]) await attach(message, [id]);
    keep();
    await uswarm.database.deleteFrom('messages').where('id', '=', one).execute();
    expect(await settled(id)).toEqual(['row', 'file']);
    await uswarm.database.deleteFrom('messages').where('id', '=', two).execute();
    expect(await gone(id)).toEqual([]);
  });

  it('the name is deleted in the transaction that deletes the account, and the file soon after', async () => {
    const name = `${crypto.randomUUID()}.txt`;
    const [loose, sent] = [await upload(user, { content: 'a', name }), await upload(user, { content: 'b', name })];
    await attach(await send(), [sent.id]);
    await user.delete('/v1/auth/delete', {}, 204);
    expect(await rowsContaining(uswarm.database, [name])).toEqual([]);
    const rows = await rowsContaining(uswarm.database, [userId]);
    expect(rows.filter((row) => row.startsWith('uploads'))).toEqual([]);
    expect(await linkRefusal(uswarm.url, loose.url)).toBe('upload_not_found');
    keep();
    expect({ loose: await gone(loose.id), sent: await gone(sent.id) }).toEqual({ loose: [], sent: [] });
  });

  it('an upload that a crash interrupted is deleted after an hour', async () => {
    const id = crypto.randomUUID();
    const content = new Readable({ read: () => undefined });
    const putting = objects.put(id, content);
    content.push('half');
    await withTransaction(async (tx) => {
      await insertUpload(tx, id, userId);
      await stores.jobs.enqueue({ kind: UPLOAD_JOB, subjectId: id, workspaceId: id, dueInMs: HOUR_MS }, tx);
    });
    expect(await eventually(() => traces(id), { until: (found) => found.length === 3 })).toEqual([
      'row',
      'work',
      'file',
    ]);
    await age(id, HOUR_MS);
    keep();
    expect(await gone(id)).toEqual([]);
    content.destroy(new Error('crash'));
    await expect(putting).rejects.toThrow('crash');
  });

  it('a deletion that fails or crashes after deleting the file is retried', async () => {
    const { id } = await upload(user, { content: 'x' });
    await age(id, 24 * HOUR_MS);
    const work = first(await stores.jobs.claim(UPLOAD_JOB, 1, HOUR_MS));
    const failing = {
      ...objects,
      remove: async (key: string) => {
        await objects.remove(key);
        throw new Error('crash');
      },
    };
    await expect(keeping(failing)(work)).rejects.toThrow('crash');
    expect(await traces(id)).toEqual(['row', 'work']);
    await expect(attach(await send(), [id])).rejects.toThrow(ApiError);
    await stores.jobs.release(work, 0, true);
    keep();
    expect(await gone(id)).toEqual([]);
  });

  it('a worker without the lease deletes nothing', async () => {
    const { id } = await upload(user, { content: 'x' });
    await age(id, 24 * HOUR_MS);
    const work = first(await stores.jobs.claim(UPLOAD_JOB, 1, HOUR_MS));
    await keeping()({ ...work, leaseId: crypto.randomUUID() });
    expect(await traces(id)).toEqual(['row', 'work', 'file']);
    await stores.jobs.release(work, HOUR_MS);
  });

  it('a message concurrent with the deletion gets its file or is rejected', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [{ id }, message] = [await upload(user, { content: 'x' }), await send()];
      await age(id, 24 * HOUR_MS);
      const work = first(await stores.jobs.claim(UPLOAD_JOB, 1, HOUR_MS));
      const attaching = attach(message, [id]).then(
        () => true,
        () => false,
      );
      const [attached] = await Promise.all([attaching, keeping()(work)]);
      expect((await traces(id)).filter((trace) => trace !== 'work')).toEqual(attached ? ['row', 'file'] : []);
    }
  });

  it('a deletion waits for a message that is being stored, and then keeps the file', async () => {
    const [{ id }, message] = [await upload(user, { content: 'x' }), await send()];
    await age(id, 24 * HOUR_MS);
    const work = first(await stores.jobs.claim(UPLOAD_JOB, 1, HOUR_MS));
    const { removing } = await withTransaction(async (tx) => {
      const attachments = createAttachments({ links });
      await attachments.attach(message, await attachments.resolve(userId, [id], tx), tx);
      const started = keeping()(work);
      await untilBlocked(uswarm.database);
      return { removing: started };
    });
    await removing;
    expect(await traces(id)).toEqual(['row', 'file']);
  });

  it('concurrent deletions of two conversations that share a file delete the file', async () => {
    const { body } = await user.post<{ data: { id: string } }>(
      `${home.workspace}/conversations`,
      { type: 'swarm' },
      201,
    );
    const other = body.data.id;
    const { id } = await upload(user, { content: 'x' });
    const [here] = [await send()];
    const there = (
      await user.post<{ data: MessageData }>(
        `${home.workspace}/conversations/${other}/messages`,
        { content: { type: 'text', text: 'too' } },
        201,
      )
    ).body.data.id;
    for (const message of [here, there]) await attach(message, [id]);
    keep();
    const drop = (conversation: string) =>
      uswarm.database.deleteFrom('conversations').where('id', '=', conversation).execute();
    await Promise.all([drop(home.conversationId), drop(other)]);
    expect(await gone(id)).toEqual([]);
  });
});
