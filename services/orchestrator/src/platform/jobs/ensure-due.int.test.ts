import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { untilBlocked } from '../../../test/lock-waits.js';
import { withoutAfterCommit } from '../../../test/transaction.js';
import { createJobQueue, type JobQueue } from './job-queue.js';
import { createJobSignals } from './job-signals.js';

const KIND = 'test';
const LEASE_MS = 3_600_000;

describe('ensureDue', () => {
  let db: MigratedDatabase;
  let store: JobQueue;
  let workspaceId: string;
  let signalled: number;
  beforeAll(async () => {
    db = await createMigratedDatabase();
  });
  beforeEach(() => {
    const jobSignals = createJobSignals();
    jobSignals.subscribe(KIND, () => (signalled += 1));
    store = createJobQueue(db.database, jobSignals);
    workspaceId = crypto.randomUUID();
    signalled = 0;
  });
  afterAll(() => db.close());

  const enqueue = (dueInMs = 0) =>
    store.enqueue({ kind: KIND, subjectId: workspaceId, workspaceId, dueInMs }, withoutAfterCommit(db.database));
  const claim = async () => (await store.claim(KIND, 1, LEASE_MS)).at(0);

  it('signals the workers although another transaction makes the job due at the same time', async () => {
    await enqueue(LEASE_MS);
    const { ensuring } = await db.withTransaction(async (tx) => {
      await store.tryMakeDueNow(KIND, workspaceId, tx);
      const started = store.ensureDue(KIND, [workspaceId], 0);
      await untilBlocked(db.database);
      return { ensuring: started };
    });
    expect(await ensuring).toBe(0);
    expect(signalled).toBe(1);
    expect(await claim()).toMatchObject({ subjectId: workspaceId });
  });

  it('does not lock a job that is due, so that a claim does not skip it', async () => {
    await enqueue();
    const claimed = await db.withTransaction(async (tx) => {
      expect(await createJobQueue(tx).ensureDue(KIND, [workspaceId], 0)).toBe(0);
      return claim();
    });
    expect(claimed).toMatchObject({ subjectId: workspaceId });
  });

  it('makes the job of a running handler due again, unless it only has to be due within a time', async () => {
    await enqueue();
    const lease = await claim();
    if (lease === undefined) throw new Error('no job was claimed');
    expect({ changed: await store.ensureDue(KIND, [workspaceId], 1_000), signalled }).toEqual({
      changed: 0,
      signalled: 0,
    });
    expect({ changed: await store.ensureDue(KIND, [workspaceId], 0), signalled }).toEqual({ changed: 1, signalled: 1 });
    await store.release(lease, LEASE_MS);
    expect(await claim()).toMatchObject({ subjectId: workspaceId });
  });

  it('adds a missing job', async () => {
    expect(await store.ensureDue(KIND, [workspaceId], LEASE_MS)).toBe(1);
    expect(await claim()).toMatchObject({ subjectId: workspaceId });
  });
});
