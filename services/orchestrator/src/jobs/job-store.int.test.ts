import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { createJobStore, type LeasedJob, type JobStore } from './job-store.js';
import { withoutAfterCommit } from '../../test/transaction.js';

const KIND = 'test';
const LEASE_MS = 3_600_000;
const RUNS = 60;
const SERIALS = Array.from({ length: 3 }, () => crypto.randomUUID());

let db: MigratedDatabase;
let store: JobStore;
beforeAll(async () => {
  db = await createMigratedDatabase();
  store = createJobStore(db.database);
});
afterEach(() => db.database.deleteFrom('work').execute());
afterAll(() => db.close());

const workspaceId = crypto.randomUUID();
const enqueue = (subjectId: string, serial?: { serialKey: string; ordinal: number }) =>
  store.enqueue({ kind: KIND, subjectId, workspaceId, ...serial }, withoutAfterCommit(db.database));
/** Extends the lease. @returns whether it is still held */
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
  /** Made due since it was taken: giving it back does not put it off. */
  hurried: boolean;
  /** The lease that is written in the row, expired or not. */
  lease: LeasedJob | undefined;
  expired: boolean;
}

/** What the table should hold, and every lease that anybody was ever given. */
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
/** One of the leases given out so far, chosen by a number. */
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
      hurried: false,
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
    // Workers that come at once may pass each other by; one alone takes all that it may.
    if (limits.length === 1) expect(got).toHaveLength(Math.min(limits[0] ?? 0, wanted.length));
    for (const lease of got) {
      expect(lease.takenOver).toBe(model.rows.get(lease.subjectId)?.lease !== undefined);
      Object.assign(model.rows.get(lease.subjectId) ?? {}, { lease, expired: false, hurried: false });
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
      if (held(model, lease) !== undefined) model.rows.delete(lease.subjectId);
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
        Object.assign(row, { lease: undefined, expired: false, due: again === 'now' || row.hurried });
    },
    anyLease,
  );

const hurry = (): Command =>
  command('hurry', async (model) => {
    await store.makeDueNow(KIND, workspaceId);
    for (const row of model.rows.values()) Object.assign(row, { due: true, hurried: true });
  });

const compare = (): Command =>
  command('compare', async (model) => {
    const actual = (await rows()).map(({ subject_id, lease_id }) => [subject_id, lease_id]);
    expect(actual).toEqual([...model.rows].map(([id, { lease }]) => [id, lease?.leaseId ?? null]));
  });

describe('leases', () => {
  it('obey the model: one holder a subject, in order within a serial key, and nothing for who lost it', async () => {
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
        fc.constant(hurry()),
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
  ])('a claim of %d takes no more of %d, however that is planned', async (limit, size) => {
    await many(size);
    await sql`ANALYZE work`.execute(db.database);
    const taken = [];
    for (let n = 0; n < 3; n += 1) taken.push((await store.claim(KIND, limit, LEASE_MS)).length);
    expect(taken).toEqual([limit, limit, limit]);
  });

  it('twenty workers at once share five hundred rows out, each row to one', async () => {
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
    expect([got.length, new Set(got).size]).toEqual([500, 500]);
  });

  it('workers at once take the rows of a serial key one after the other, in order', async () => {
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
    expect([most, done]).toEqual([1, order]);
  });

  it('a holder that lost its lease does not commit: the row is locked while it looks', async () => {
    await enqueue(crypto.randomUUID());
    const [lost] = await store.claim(KIND, 1, LEASE_MS);
    await expire(lost?.subjectId ?? '');
    const [next] = await store.claim(KIND, 1, LEASE_MS);
    const writes = [lost, next].map((lease) =>
      db.withTransaction(async (tx) => lease !== undefined && store.holds(lease, tx)),
    );
    expect(await Promise.all(writes)).toEqual([false, true]);
  });

  it('who writes keeps its row from being taken over until it commits, even after the lease ran out', async () => {
    await enqueue(crypto.randomUUID());
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    if (lease === undefined) throw new Error('nothing was claimed');
    await expire(lease.subjectId);
    const during = await db.withTransaction(async (tx) => {
      expect(await store.holds(lease, tx)).toBe(true);
      return store.claim(KIND, 1, LEASE_MS);
    });
    expect([during, (await store.claim(KIND, 1, LEASE_MS)).length]).toEqual([[], 1]);
  });

  it('what is made due while it runs is due again right after, whatever its handler says', async () => {
    const subjectId = crypto.randomUUID();
    await enqueue(subjectId);
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    if (lease === undefined) throw new Error('nothing was claimed');
    await enqueue(subjectId);
    await store.release(lease, LEASE_MS);
    expect(await store.claim(KIND, 1, LEASE_MS)).toMatchObject([{ subjectId, attempts: 1 }]);
  });

  it('attempts count the claims', async () => {
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

  it('failures count those releases that say so', async () => {
    await enqueue(crypto.randomUUID());
    const seen = [];
    for (const failed of [true, false, true, false]) {
      const [lease] = await store.claim(KIND, 1, LEASE_MS);
      if (lease === undefined) throw new Error('nothing was claimed');
      seen.push(lease.failures);
      await store.release(lease, 0, failed);
    }
    expect(seen).toEqual([0, 1, 1, 2]);
  });

  it('kinds are apart', async () => {
    const subjectId = crypto.randomUUID();
    await enqueue(subjectId);
    expect(await store.claim('other', 10, LEASE_MS)).toEqual([]);
    await db.withTransaction((tx) => store.cancel('other', workspaceId, tx));
    expect(await store.claim(KIND, 10, LEASE_MS)).toMatchObject([{ subjectId }]);
  });

  it('are extended together, and a row that a transaction has locked delays none of the others', async () => {
    await many(3);
    const leases = await store.claim(KIND, 3, LEASE_MS);
    const [locked, ...others] = leases;
    if (locked === undefined) throw new Error('nothing was claimed');
    const expiries = async () =>
      new Map((await rows()).map((row) => [row.subject_id, row.lease_expires_at?.getTime()]));
    const before = await expiries();
    const gone: LeasedJob = { ...locked, leaseId: crypto.randomUUID() };
    const stillOurs = await db.withTransaction(async (tx) => {
      expect(await store.holds(locked, tx)).toBe(true);
      return store.extend([...leases, gone].map((job) => ({ job, leaseMs: 2 * LEASE_MS })));
    });
    expect(stillOurs).toEqual(new Set(leases.map(({ leaseId }) => leaseId)));
    const after = await expiries();
    expect(after.get(locked.subjectId)).toBe(before.get(locked.subjectId));
    for (const { subjectId } of others) expect(after.get(subjectId)).toBeGreaterThan(before.get(subjectId) ?? Infinity);
  });

  it('of cancelled work are lost', async () => {
    await enqueue(crypto.randomUUID());
    const [lease] = await store.claim(KIND, 1, LEASE_MS);
    await db.withTransaction((tx) => store.cancel(KIND, workspaceId, tx));
    expect(lease === undefined ? undefined : await stillHeld(lease)).toBe(false);
  });
});
