import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { AUDIT_PRUNING_JOB } from '../../records/audit.store.js';

describe('the audit log of an orchestrator', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '1' } });
  });
  afterAll(() => uswarm.close());

  it('deletes sign-ins after 90 days and keeps later ones', async () => {
    for (const days of [91, 89]) {
      await sql`INSERT INTO audit_log (id, actor, action, at)
        VALUES (gen_random_uuid(), 'user', 'account.sign_in', now() - make_interval(days => ${days}))`.execute(
        uswarm.database,
      );
    }
    await sql`UPDATE work SET run_at = now(), attempts = 0 WHERE kind = ${AUDIT_PRUNING_JOB}`.execute(uswarm.database);
    const ages = async () => {
      const { rows } = await sql<{ days: number }>`
        SELECT round(extract(epoch FROM now() - at) / 86400)::int AS days FROM audit_log
        WHERE action = 'account.sign_in' ORDER BY at`.execute(uswarm.database);
      return rows.map(({ days }) => days);
    };
    expect(await eventually(ages, { until: ({ length }) => length === 1, timeoutMs: 30_000 })).toEqual([89]);
  });
});
