import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from '@uswarm/service-kit';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertMessages, insertTurns, insertWorkspaces } from '../../test/bulk-data.js';
import { type BacklogMetricsDeps, registerBacklog } from './backlog-metrics.js';
import { type Backlog, readBacklog } from './backlog.store.js';
import * as backlogRecords from './backlog.store.js';

const KINDS = ['turn', 'runtime', 'upload'];

describe('readBacklog', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase(4);
  });
  beforeEach(() => sql`TRUNCATE users, work, runtimes, event_outbox, workspace_events CASCADE`.execute(db.database));
  afterAll(() => db.close());

  const run = (statement: string) => sql.raw(statement).execute(db.database);
  const read = (): Promise<Backlog> => readBacklog(db.database, KINDS);
  const stateOf = ({ turns }: Backlog, state: string) => turns.find((each) => each.state === state);
  /** Inserts queued turns of this age with their jobs, one per conversation. */
  const fill = async (conversations: number, seconds: number): Promise<void> => {
    await insertWorkspaces(db.database, conversations);
    await insertMessages(db.database, 2);
    await insertTurns(db.database);
    await run(`UPDATE turns SET status = 'queued', created_at = now() - interval '${seconds} seconds'`);
    await run(`DELETE FROM work`);
    await run(`
      INSERT INTO work (kind, subject_id, workspace_id, serial_key, ordinal)
      SELECT 'turn', t.id, t.workspace_id, t.conversation_id, m.seq FROM turns t JOIN messages m ON m.id = t.user_message_id`);
  };

  it('reads an empty backlog from an empty database', async () => {
    expect(await read()).toEqual({ turns: [], jobs: [], events: { unpublished: 0, oldestAgeS: 0 }, runtimes: [] });
  });

  it('counts queued, held and running turns', async () => {
    await fill(3, 100);
    const [queued] = (await read()).turns;
    expect(queued).toMatchObject({ state: 'queued' });
    expect(Math.round(queued!.oldestAgeS)).toBeGreaterThanOrEqual(100);
    await run(`UPDATE turns SET status = 'running'`);
    expect((await read()).turns).toMatchObject([{ state: 'running', count: queued!.count }]);
    await run(`UPDATE turns SET status = 'queued'`);
    await run(`UPDATE runtimes SET phase = 'Suspended', reason = 'Held'`);
    expect((await read()).turns).toMatchObject([{ state: 'held', count: queued!.count }]);
  });

  it('ignores the age of a turn that waits for an earlier one of its conversation', async () => {
    await fill(1, 10);
    await run(`UPDATE turns SET status = 'running' WHERE id = (SELECT subject_id FROM work ORDER BY ordinal LIMIT 1)`);
    await run(`UPDATE turns SET created_at = now() - interval '1 hour' WHERE status = 'queued'`);
    const backlog = await read();
    expect(stateOf(backlog, 'queued')).toMatchObject({ oldestAgeS: 0 });
    expect(stateOf(backlog, 'running')!.oldestAgeS).toBeLessThan(3_000);
  });

  it('counts due and leased jobs, and ignores jobs that are not yet due', async () => {
    await run(`
      INSERT INTO work (kind, subject_id, workspace_id, serial_key, run_at, lease_id, lease_expires_at)
      SELECT 'runtime', id, id, id, now() + offset_s * interval '1 second', lease, expires
      FROM (VALUES
        (gen_random_uuid(), -90, NULL, NULL),
        (gen_random_uuid(), -500, gen_random_uuid(), now() + interval '1 hour'),
        (gen_random_uuid(), -30, gen_random_uuid(), now() - interval '1 second'),
        (gen_random_uuid(), 60, NULL, NULL)
      ) AS rows (id, offset_s, lease, expires)`);
    const { jobs } = await read();
    expect(jobs).toMatchObject([{ kind: 'runtime', due: 2, leased: 1 }]);
    expect(jobs[0]!.oldestDueAgeS).toBeGreaterThanOrEqual(90);
    expect(jobs[0]!.oldestDueAgeS).toBeLessThan(500);
  });

  it('counts unpublished events', async () => {
    await insertWorkspaces(db.database, 2);
    await insertMessages(db.database, 3);
    await run(`UPDATE event_outbox SET from_seq = 2, since = now() - interval '40 seconds'`);
    const { events } = await read();
    expect(events.unpublished).toBe(4);
    expect(events.oldestAgeS).toBeGreaterThanOrEqual(40);
    expect(events.oldestAgeS).toBeLessThan(400);
  });

  it('counts runtimes that have not responded for 30 s', async () => {
    await insertWorkspaces(db.database, 3);
    await run(`
      UPDATE runtimes SET phase = 'Ready', silent_since = now() - rank * interval '20 seconds'
      FROM (SELECT workspace_id AS id, row_number() OVER () AS rank FROM runtimes) AS ranked WHERE id = workspace_id`);
    const { runtimes } = await read();
    expect(runtimes).toEqual([{ phase: 'Ready', count: 3, unreachable: 2 }]);
  });

  describe('registerBacklog', () => {
    const scrape = async (
      store: BacklogMetricsDeps['store'] = backlogRecords,
      deadlineMs = 10_000,
    ): Promise<string> => {
      const registry = new Registry();
      registerBacklog(registry, { database: db.database, store, kinds: KINDS, deadlineMs });
      return registry.metrics();
    };

    it('exports a series for each state, job type and phase', async () => {
      await insertWorkspaces(db.database, 3);
      const text = await scrape();
      for (const line of [
        'uswarm_database_up 1',
        'uswarm_turns{state="queued"} 0',
        'uswarm_turns_oldest_age_seconds{state="queued"} 0',
        'uswarm_jobs_due{kind="upload"} 0',
        'uswarm_relay_unpublished_events 0',
        'uswarm_runtimes{phase="Pending"} 3',
        'uswarm_runtimes{phase="Error"} 0',
        'uswarm_runtimes_unreachable 0',
      ]) {
        expect(text).toContain(`${line}\n`);
      }
    });

    it.each([
      ['fails', () => Promise.reject(new Error('unavailable'))],
      ['does not respond', () => new Promise<never>(() => undefined)],
    ])('exports only uswarm_database_up 0 while the database %s', async (_how, answer) => {
      const text = await scrape({ readBacklog: answer }, 20);
      expect(text).toContain('uswarm_database_up 0\n');
      expect(text.split('\n').filter((line) => /^uswarm_(turns|jobs|relay|runtimes)/.test(line))).toEqual([]);
    });

    it('reads the database once per scrape', async () => {
      let reads = 0;
      await scrape({ readBacklog: (...of) => ((reads += 1), readBacklog(...of)) });
      expect(reads).toBe(1);
    });
  });
});
