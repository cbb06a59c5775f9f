import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createJobQueue, type LeasedJob, type JobQueue } from './job-queue.js';
import { withoutAfterCommit } from '../../../test/transaction.js';

const KIND = 'turn';
const LEASE_MS = 3_600_000;
const PER_KEY = 4;

describe('claimFairly', () => {
  let db: MigratedDatabase;
  let store: JobQueue;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    store = createJobQueue(db.database);
  });
  afterEach(() => db.database.deleteFrom('work').execute());
  afterAll(() => db.close());

  const workspaceId = crypto.randomUUID();
  const enqueue = async (fairKey: string, count: number, serialKey?: string) => {
    for (let ordinal = 0; ordinal < count; ordinal += 1) {
      const subjectId = crypto.randomUUID();
      const serial = serialKey === undefined ? {} : { serialKey, ordinal };
      await store.enqueue({ kind: KIND, subjectId, workspaceId, fairKey, ...serial }, withoutAfterCommit(db.database));
    }
  };
  const claim = (limit: number) => store.claimFairly(KIND, limit, LEASE_MS, PER_KEY);
  const keysOf = async (claimed: LeasedJob[]) => {
    const rows = await db.database.selectFrom('work').select(['subject_id', 'fair_key']).execute();
    return claimed.map(({ subjectId }) => rows.find(({ subject_id }) => subject_id === subjectId)?.fair_key);
  };
  const [a, b, c] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()] as const;

  it('claims a job of another user before the backlog of the first one', async () => {
    await enqueue(a, 100);
    const [first] = await claim(1);
    expect(await keysOf([first!])).toEqual([a]);
    await enqueue(b, 1);
    expect(await keysOf(await claim(1))).toEqual([b]);
  });

  it('limits the concurrent jobs per user, even if more workers are free', async () => {
    await enqueue(a, 100);
    expect(await claim(32)).toHaveLength(PER_KEY);
    expect(await claim(32)).toEqual([]);
    await enqueue(b, 2);
    expect(await keysOf(await claim(32))).toEqual([b, b]);
  });

  it('claims the next job of a user after one is completed, and jobs with an expired lease', async () => {
    await enqueue(a, 10);
    const [done] = await claim(32);
    await store.complete(done!);
    expect(await claim(32)).toHaveLength(1);
    await sql`UPDATE work SET lease_expires_at = '-infinity' WHERE lease_id IS NOT NULL`.execute(db.database);
    const again = await claim(32);
    expect(again).toHaveLength(PER_KEY);
  });

  it('alternates between users when fewer workers are free than users wait', async () => {
    for (const key of [a, b, c]) await enqueue(key, 5);
    const keys = [];
    for (let n = 0; n < 6; n += 1) keys.push(...(await keysOf(await claim(1))));
    expect(keys.slice(0, 3).toSorted()).toEqual([a, b, c].toSorted());
    expect(keys.slice(3).toSorted()).toEqual([a, b, c].toSorted());
  });

  it('limits the concurrent jobs per user under concurrent claims', async () => {
    await enqueue(a, 50);
    const claimed = await Promise.all(Array.from({ length: 8 }, () => claim(32)));
    expect(claimed.flat()).toHaveLength(PER_KEY);
  });

  it('claims jobs of one serial key one at a time, the lowest id first among equal ordinals', async () => {
    const ids = [crypto.randomUUID(), crypto.randomUUID()].toSorted();
    for (const subjectId of ids.toReversed()) {
      await store.enqueue(
        { kind: KIND, subjectId, workspaceId, fairKey: a, serialKey: b, ordinal: 7 },
        withoutAfterCommit(db.database),
      );
    }
    const first = await claim(32);
    expect(first.map(({ subjectId }) => subjectId)).toEqual([ids[0]]);
    expect(await claim(32)).toEqual([]);
    await store.complete(first[0]!);
    expect((await claim(32)).map(({ subjectId }) => subjectId)).toEqual([ids[1]]);
  });

  it('uses the workspace as fair key for rows of release 0.2, which have none', async () => {
    await store.enqueue({ kind: KIND, subjectId: a, workspaceId }, withoutAfterCommit(db.database));
    expect(await claim(32)).toHaveLength(1);
  });

  it('does not claim a job before it is due, or while it is leased', async () => {
    await store.enqueue({ kind: KIND, subjectId: a, workspaceId, dueInMs: LEASE_MS }, withoutAfterCommit(db.database));
    await store.enqueue({ kind: KIND, subjectId: b, workspaceId }, withoutAfterCommit(db.database));
    expect((await claim(32)).map(({ subjectId }) => subjectId)).toEqual([b]);
    expect(await claim(32)).toEqual([]);
  });
});
