import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createJobQueue, type LeasedJob, type JobQueue } from './job-queue.js';
import { withoutAfterCommit } from '../../../test/transaction.js';

const KIND = 'test';
const LEASE_MS = 3_600_000;
const RUNS = 60;
const SERIALS = Array.from({ length: 3 }, () => crypto.randomUUID());

let db: MigratedDatabase;
let store: JobQueue;
beforeAll(async () => {
  db = await createMigratedDatabase();
  store = createJobQueue(db.database);
});
afterEach(() => db.database.deleteFrom('work').execute());
afterAll(() => db.close());

const workspaceId = crypto.randomUUID();
const enqueue = (subjectId: string, serial?: { serialKey: string; ordinal: number }) =>
  store.enqueue({ kind: KIND, subjectId, workspaceId, ...serial }, withoutAfterCommit(db.database));
const stillHeld = async (job: LeasedJob): Promise<boolean> =>
  (await store.extend([{ job, leaseMs: LEASE_MS }])).has(job.leaseId);
const expire = (subjectId: string) =>
  sql`UPDATE work SET lease_expires_at = '-infinity' WHERE subject_id = ${subjectId} AND lease_id IS NOT NULL`.execute(
    db.database,
  );
const many = (count: number) =>
  sql`
    INSERT INTO work (kind, subject_id, workspace_id, serial_key)
    SELECT ${KIND}, id, ${workspaceId}, id FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, ${count})) made`.execute(
    db.database,
  );
const rows = () => db.database.selectFrom('work').selectAll().orderBy('ordinal').execute();

interface Row {
  serialKey: string;
  ordinal: number;
  due: boolean;
  /** Made due since it was claimed, so that a release does not delay it. */
  madeDue: boolean;
  /** The lease in the row, expired or not. */
  lease: LeasedJob | undefined;
  expired: boolean;
}

/** Expected rows, and all leases that were ever granted. */
interface Model {
  rows: Map<string, Row>;
  leases: LeasedJob[];
  ordinal: number;
}

const claimable = (model: Model): string[] =>
  [...model.rows].flatMap(([id, row]) => {
    const free = row.lease === undefined || row.expired;
    const behind = [...model.rows.values()].some(
      (other) => other.serialKey === row.serialKey && other.ordinal < row.ordinal,
    );
    return row.due && free && !behind ? [id] : [];
  });

type Command = fc.AsyncCommand<Model, object, boolean>;
const command = (
  name: string,
  run: (model: Model) => Promise<void>,
  check: (model: Model) => boolean = () => true,
): Command => ({
  check: (model) => check(model),
  run,
  toString: () => name,
});
const pick = (model: Model, n: number): LeasedJob => model.leases[n % model.leases.length] as LeasedJob;
const anyLease = (model: Model): boolean => model.leases.length > 0;
const held = (model: Model, lease: LeasedJob): Row | undefined => {
  const row = model.rows.get(lease.subjectId);
  return row?.lease?.leaseId === lease.leaseId ? row : undefined;
};

const add = (serial: number): Command =>
  command(`add(${serial})`, async (model) => {
    const subjectId = crypto.randomUUID();
    const serialKey = SERIALS[serial] ?? subjectId;
    model.ordinal += 1;
    await enqueue(subjectId, { serialKey, ordinal: model.ordinal });
    model.rows.set(subjectId, {
      serialKey,
      ordinal: model.ordinal,
      due: true,
      madeDue: false,
      lease: undefined,
      expired: false,
    });
  });

const claim = (limits: number[]): Command =>
  command(`claim(${limits})`, async (model) => {
    const wanted = claimable(model);
    const claims = await Promise.all(limits.map((limit) => store.claim(KIND, limit, LEASE_MS)));
    const got = claims.flat();
    claims.forEach((claimed, worker) => expect(claimed.length).toBeLessThanOrEqual(limits[worker] ?? 0));
    expect(new Set(got.map(({ subjectId }) => subjectId)).size).toBe(got.length);
    for (const lease of got) expect(wanted).toContain(lease.subjectId);
    // Concurrent claims can skip rows that the others have locked; a single claim cannot.
    if (limits.length === 1) expect(got).toHaveLength(Math.min(limits[0] ?? 0, wanted.length));
    for (const lease of got) {
      expect(lease.takenOver).toBe(model.rows.get(lease.subjectId)?.lease !== undefined);
      Object.assign(model.rows.get(lease.subjectId) ?? {}, { lease, expired: false, madeDue: false });
      model.leases.push(lease);
    }
  });

const letExpire = (n: number): Command =>
  command(
    `expire(${n})`,
    async (model) => {
      const { subjectId } = pick(model, n);
      await expire(subjectId);
      const row = model.rows.get(subjectId);
      if (row?.lease !== undefined) row.expired = true;
    },
    anyLease,
  );

const extend = (n: number): Command =>
  command(
    `extend(${n})`,
    async (model) => {
      const lease = pick(model, n);
      const row = held(model, lease);
      expect(await stillHeld(lease)).toBe(row !== undefined);
      if (row !== undefined) row.expired = false;
    },
    anyLease,
  );

const write = (n: number): Command =>
  command(
    `write(${n})`,
    async (model) => {
      const lease = pick(model, n);
      expect(await db.withTransaction((tx) => store.holds(lease, tx))).toBe(held(model, lease) !== undefined);
    },
    anyLease,
  );

const complete = (n: number): Command =>
  command(
    `complete(${n})`,
    async (model) => {
      const lease = pick(model, n);
      await store.complete(lease);
      const row = held(model, lease);
      if (row?.madeDue === true) Object.assign(row, { lease: undefined, expired: false });
      else if (row !== undefined) model.rows.delete(lease.subjectId);
    },
    anyLease,
  );

const release = (n: number, again: 'now' | 'later'): Command =>
  command(
    `release(${n}, ${again})`,
    async (model) => {
      const lease = pick(model, n);
      await store.release(lease, again === 'now' ? 0 : LEASE_MS);
      const row = held(model, lease);
      if (row !== undefined)
        Object.assign(row, { lease: undefined, expired: false, due: again === 'now' || row.madeDue });
    },
    anyLease,
  );

const makeDueNow = (): Command =>
  command('makeDueNow', async (model) => {
    await store.makeDueNow(KIND, workspaceId);
    for (const row of model.rows.values()) Object.assign(row, { due: true, madeDue: true });
  });

const compare = (): Command =>
  command('compare', async (model) => {
    const actual = (await rows()).map(({ subject_id, lease_id }) => [subject_id, lease_id]);
    expect(actual).toEqual([...model.rows].map(([id, { lease }]) => [id, lease?.leaseId ?? null]));
  });

describe('createJobQueue', () => {
  it('grants one lease per job, in order within a serial key, and rejects lost leases (model-based)', async () => {
    const some = fc.nat({ max: 50 });
    const commands = fc.commands<Model, object, boolean>(
      [
        fc.nat({ max: SERIALS.length }).map(add),
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 1 }).map(claim),
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 4 }).map(claim),
        some.map(letExpire),
        some.map(extend),
        some.map(write),
        some.map(complete),
        fc.tuple(some, fc.constantFrom('now' as const, 'later' as const)).map(([n, again]) => release(n, again)),
        fc.constant(makeDueNow()),
        fc.constant(compare()),
      ],
      { maxCommands: 60, size: 'max' },
    );
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(commands, async (sequence) => {
        await db.database.deleteFrom('work').execute();
        await fc.asyncModelRun(() => ({ model: { rows: new Map(), leases: [], ordinal: 0 }, real: {} }), sequence);
        runs += 1;
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(runs).toBe(RUNS);
  });

  it.each([
    [1, 5],
    [3, 9],
    [1, 500],
    [3, 500],
  ])('claims at most %d of %d jobs with any query plan', async (limit, size) => {
    await many(size);
    await sql`ANALYZE work`.execute(db.database);
    const taken = [];
    for (let n = 0; n < 3; n += 1) taken.push((await store.claim(KIND, limit, LEASE_MS)).length);
    expect(taken).toEqual([limit, limit, limit]);
  });

  it('grants each of 500 jobs to one of twenty concurrent workers', async () => {
    await many(500);
    const worker = async () => {
      const got: string[] = [];
      for (let empty = 0; empty < 3;) {
        const claimed = await store.claim(KIND, 7, LEASE_MS);
        empty = claimed.length === 0 ? empty + 1 : 0;
        got.push(...claimed.map(({ subjectId }) => subjectId));
      }
      return got;
    };
    const got = (await Promise.all(Array.from({ length: 20 }, worker))).flat();
    expect({ claimed: got.length, distinct: new Set(got).size }).toEqual({ claimed: 500, distinct: 500 });
  });

  it('grants the jobs of a serial key one at a time, in order, to concurrent workers', async () => {
    const serialKey = crypto.randomUUID();
    for (let ordinal = 1; ordinal <= 20; ordinal += 1) await enqueue(crypto.randomUUID(), { serialKey, ordinal });
    const order = (await rows()).map(({ subject_id }) => subject_id);
    const done: string[] = [];
    let running = 0;
    let most = 0;
    const worker = async () => {
      while (done.length < order.length) {
        for (const lease of await store.claim(KIND, 3, LEASE_MS)) {
          running += 1;
          most = Math.max(most, running);
          await stillHeld(lease);
          done.push(lease.subjectId);
          running -= 1;
          await store.complete(lease);
        }
      }
    };
    await Promise.all(Array.from({ length: 5 }, worker));
    expect({ most, done }).toEqual({ most: 1, done: order });
  });

  it('rejects the lost lease when the old and the new holder check concurrently', async () => {
    await enqueue(crypto.randomUUID());
    const [lost] = await store.claim(KIND, 1, LEASE_MS);
    await expire(lost?.subjectId ?? '');
    const [next] = await store.claim(KIND, 1, LEASE_MS);
    const writes = [lost, next].map((lease) =>
      db.withTransaction(async (tx) => lease !== undefined && store.holds(lease, tx)),
    );
    expect(await Promise.all(writes)).toEqual([false, true]);
  });

  it('prevents a takeover until the transaction of the holder commits, even after the lease expired', async () => {
    await enqueue(crypto.randomUUID());
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    if (lease === undefined) throw new Error('no job was claimed');
    await expire(lease.subjectId);
    const during = await db.withTransaction(async (tx) => {
      expect(await store.holds(lease, tx)).toBe(true);
      return store.claim(KIND, 1, LEASE_MS);
    });
    expect(during).toEqual([]);
    expect(await store.claim(KIND, 1, LEASE_MS)).toHaveLength(1);
  });

  it('keeps a job due that was made due while its handler ran, regardless of the release delay', async () => {
    const subjectId = crypto.randomUUID();
    await enqueue(subjectId);
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    if (lease === undefined) throw new Error('no job was claimed');
    await enqueue(subjectId);
    await store.release(lease, LEASE_MS);
    expect(await store.claim(KIND, 1, LEASE_MS)).toMatchObject([{ subjectId, attempts: 1 }]);
  });

  it('keeps a job due that was enqueued while its handler ran, although the handler completes it', async () => {
    const subjectId = crypto.randomUUID();
    await enqueue(subjectId);
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    if (lease === undefined) throw new Error('no job was claimed');
    await enqueue(subjectId);
    await store.complete(lease);
    const [again] = await store.claim(KIND, 1, LEASE_MS);
    expect(again).toMatchObject({ subjectId, attempts: 1, takenOver: false });
    if (again !== undefined) await store.complete(again);
    expect(await rows()).toEqual([]);
  });

  it('counts claims as attempts', async () => {
    const subjectId = crypto.randomUUID();
    await enqueue(subjectId);
    const seen = [];
    for (let n = 0; n < 3; n += 1) {
      const [lease] = await store.claim(KIND, 1, LEASE_MS);
      seen.push(lease?.attempts);
      await expire(subjectId);
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  it('counts only failed releases as failures', async () => {
    await enqueue(crypto.randomUUID());
    const seen = [];
    for (const failed of [true, false, true, false]) {
      const [lease] = await store.claim(KIND, 1, LEASE_MS);
      if (lease === undefined) throw new Error('no job was claimed');
      seen.push(lease.failures);
      await store.release(lease, 0, failed);
    }
    expect(seen).toEqual([0, 1, 1, 2]);
  });

  it('names the job types with a job that is due and not leased', async () => {
    const kinds = [KIND, 'other', 'empty'];
    const due = async () => (await store.dueKinds(kinds)).toSorted();
    expect(await due()).toEqual([]);
    const id = crypto.randomUUID();
    await enqueue(id);
    await store.enqueue(
      { kind: 'other', subjectId: id, workspaceId, dueInMs: 3_600_000 },
      withoutAfterCommit(db.database),
    );
    expect(await due()).toEqual([KIND]);
    await store.claim(KIND, 1, LEASE_MS);
    expect(await due()).toEqual([]);
    await expire(id);
    await store.makeDueNow('other', workspaceId);
    expect(await due()).toEqual(['other', KIND]);
  });

  it('separates job types', async () => {
    const subjectId = crypto.randomUUID();
    await enqueue(subjectId);
    expect(await store.claim('other', 10, LEASE_MS)).toEqual([]);
    await db.withTransaction((tx) => store.cancel('other', workspaceId, tx));
    expect(await store.claim(KIND, 10, LEASE_MS)).toMatchObject([{ subjectId }]);
  });

  it('extends leases together without waiting for a row that a transaction has locked', async () => {
    await many(3);
    const leases = await store.claim(KIND, 3, LEASE_MS);
    const [locked, ...others] = leases;
    if (locked === undefined) throw new Error('no job was claimed');
    const expiries = async () =>
      new Map((await rows()).map((row) => [row.subject_id, row.lease_expires_at?.getTime()]));
    const before = await expiries();
    const lost: LeasedJob = { ...locked, leaseId: crypto.randomUUID() };
    const stillHeldIds = await db.withTransaction(async (tx) => {
      expect(await store.holds(locked, tx)).toBe(true);
      return store.extend([...leases, lost].map((job) => ({ job, leaseMs: 2 * LEASE_MS })));
    });
    expect(stillHeldIds).toEqual(new Set(leases.map(({ leaseId }) => leaseId)));
    const after = await expiries();
    expect(after.get(locked.subjectId)).toBe(before.get(locked.subjectId));
    for (const { subjectId } of others) expect(after.get(subjectId)).toBeGreaterThan(before.get(subjectId) ?? Infinity);
  });

  it('revokes the leases of cancelled jobs', async () => {
    await enqueue(crypto.randomUUID());
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    await db.withTransaction((tx) => store.cancel(KIND, workspaceId, tx));
    expect(lease === undefined ? undefined : await stillHeld(lease)).toBe(false);
  });
});
