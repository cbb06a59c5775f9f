import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import pg from 'pg';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';
import { TURN_JOB } from '../records/turn-job.js';

/** Longer than a busy test machine stops a process. */
const LEASE_MS = 6_000;
const SLOW_REQUESTS = 40;
/** The demo model streams this for about 20 seconds, which is several lease periods. */
const LONG = Array.from({ length: 200 }, (_, n) => `word${n}`).join(' ');

describe('a running turn while requests use all connections of their pool', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: {
        DATABASE_MAX_CONNECTIONS: '8',
        WORK_LEASE_MS: String(LEASE_MS),
        RUNTIME_WORKERS: '1',
        TURN_WORKERS: '2',
        USWARM_DEMO_DELAY_MS: '100',
      },
    });
  });
  afterAll(() => uswarm.close());

  const metric = async (name: string): Promise<number> => {
    const line = (await uswarm.metrics.metrics()).split('\n').find((text) => text.startsWith(name));
    return Number(line?.split(' ').at(-1));
  };
  const waiting = () => metric('uswarm_database_pool_pending{pool="requests",');

  /** Sends requests that block in the token check until the returned function is called. */
  async function holdAllConnections(token: string): Promise<() => Promise<void>> {
    let on = true;
    const locker = new pg.Client({ connectionString: uswarm.databaseUrl });
    await locker.connect();
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE revoked_tokens IN ACCESS EXCLUSIVE MODE');
    const ask = async (): Promise<void> => {
      while (on) {
        const response = await fetch(`${uswarm.url}/v1/users/profile`, { headers: { 'x-token': token } });
        await response.text();
      }
    };
    const asking = Array.from({ length: SLOW_REQUESTS }, ask);
    await eventually(waiting, { until: (count) => count > 0 });
    return async () => {
      on = false;
      await locker.end();
      await Promise.all(asking);
    };
  }

  it('completes with the same lease', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const events: string[] = [];
    await uswarm.bus.subscribe(home.workspaceId, ({ event }) => void events.push(String(event)));
    const chunks = (): number => events.filter((event) => event === 'message.chunk').length;
    await user.post(home.messages, { content: { type: 'text', text: LONG } }, 201);
    await eventually(chunks, { until: (count) => count > 2 });

    const release = await holdAllConnections(user.token);
    const before = chunks();
    const leases = new Set<string | null>();
    const expiries: number[] = [];
    const done = await eventually(
      async () => {
        const row = await uswarm.database
          .selectFrom('work')
          .selectAll()
          .where('kind', '=', TURN_JOB)
          .executeTakeFirst();
        if (row !== undefined) {
          leases.add(row.lease_id);
          expiries.push(row.lease_expires_at?.getTime() ?? 0);
        }
        return events.includes('message.done');
      },
      { until: (ended) => ended },
    );
    // The pool is still exhausted.
    const stillWaiting = await eventually(waiting, { until: (count) => count > 0 });
    await release();

    expect(done).toBe(true);
    expect(stillWaiting > 0).toBe(true);
    expect(chunks()).toBeGreaterThan(before);
    expect(leases.size).toBe(1);
    expect(Math.max(...expiries) - Math.min(...expiries)).toBeGreaterThan(2 * LEASE_MS);
    expect(await metric(`uswarm_lease_takeovers_total{kind="${TURN_JOB}",`)).toBe(0);
    const turns = await uswarm.database.selectFrom('turns').select(['status', 'generation']).execute();
    expect(turns).toEqual([{ status: 'done', generation: 1 }]);
  });
});
