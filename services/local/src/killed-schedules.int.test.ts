import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const SCHEDULES = 40;

describeWith('valkey', 'schedules with two orchestrators', () => {
  let services: SeparateServices;
  let client: TestClient;
  beforeAll(async () => {
    // Without turn workers: only starts count.
    services = await startSeparateServices({ SCHEDULES_SPREAD_S: '0', TURN_WORKERS: '0', WORK_LEASE_MS: '3000' });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
    await services.addOrchestrator();
  });
  afterAll(async () => {
    await client?.close();
    await services?.close();
  });

  /** Schedules that are due at the same time. */
  async function storeDue(): Promise<string[]> {
    const rows = await services.query<{ id: string }>(
      `WITH made AS (
        INSERT INTO schedules (id, workspace_id, agent_id, title, prompt, start_time, rrule, time_zone, status, next_at)
        SELECT gen_random_uuid(), $1, a.id, 'Title ' || n, 'Prompt ' || n, '2026-01-01T08:00:00', 'FREQ=DAILY', 'UTC', 'active',
          date_trunc('hour', now())
        FROM generate_series(1, ${SCHEDULES}) n, (SELECT id FROM agents WHERE workspace_id = $1 ORDER BY sort_order LIMIT 1) a
        RETURNING id, workspace_id
      )
      INSERT INTO work (kind, subject_id, workspace_id, serial_key)
      SELECT 'schedule', id, workspace_id, id FROM made RETURNING subject_id AS id`,
      [client.workspaceId],
    );
    return rows.map(({ id }) => id);
  }

  /** Triggers with a queued request each. */
  const storeQueued = () =>
    services.query(
      `WITH made AS (
        INSERT INTO schedules (id, workspace_id, agent_id, title, prompt, status, secret_hash)
        SELECT gen_random_uuid(), $1, a.id, 'Title ' || n, 'Prompt ' || n, 'active', sha256(gen_random_uuid()::text::bytea)
        FROM generate_series(1, ${SCHEDULES}) n, (SELECT id FROM agents WHERE workspace_id = $1 ORDER BY sort_order LIMIT 1) a
        RETURNING id, workspace_id
      ), queued AS (
        INSERT INTO schedule_runs (id, schedule_id, due_at, status, body, body_name)
        SELECT gen_random_uuid(), id, now(), 'queued', '{"event":1}', 'event.json' FROM made
      )
      INSERT INTO work (kind, subject_id, workspace_id, serial_key) SELECT 'trigger', id, workspace_id, id FROM made`,
      [client.workspaceId],
    );

  const started = async () =>
    (
      await services.query<Record<string, number>>(
        `SELECT count(*) FILTER (WHERE r.status = 'running')::int AS runs, count(r.body)::int AS bodies,
          (SELECT count(*) FROM messages WHERE workspace_id = $1 AND trigger_id IS NOT NULL)::int AS messages,
          (SELECT count(DISTINCT trigger_id) FROM messages WHERE workspace_id = $1)::int AS "triggersWithMessages",
          (SELECT count(*) FROM message_attachments f JOIN messages m ON m.id = f.message_id
            WHERE m.workspace_id = $1 AND m.trigger_id IS NOT NULL)::int AS files
        FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id WHERE s.workspace_id = $1 AND s.secret_hash IS NOT NULL`,
        [client.workspaceId],
      )
    )[0];

  const counts = async () =>
    (
      await services.query<Record<string, number>>(
        `SELECT (SELECT count(*) FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id WHERE s.workspace_id = $1)::int AS runs,
          (SELECT count(*) FROM messages WHERE workspace_id = $1 AND schedule_id IS NOT NULL)::int AS messages,
          (SELECT count(DISTINCT schedule_id) FROM messages WHERE workspace_id = $1)::int AS "schedulesWithMessages",
          (SELECT count(*) FROM turns WHERE workspace_id = $1 AND schedule_run_id IS NOT NULL)::int AS turns,
          (SELECT count(*) FROM schedules WHERE workspace_id = $1 AND next_at > now())::int AS planned,
          (SELECT count(*) FROM work WHERE workspace_id = $1 AND kind = 'schedule' AND run_at > now())::int AS jobs`,
        [client.workspaceId],
      )
    )[0];

  it('starts each due schedule once, although one orchestrator is killed in the middle of its transactions', async () => {
    const unlock = await services.lockWorkspace(client.workspaceId);
    await storeDue();
    await services.untilBlocked();
    const leased = () =>
      services.query(`SELECT DISTINCT lease_id FROM work WHERE kind = 'schedule' AND lease_id IS NOT NULL`);
    // Both orchestrators have four workers.
    await eventually(leased, { until: (rows) => rows.length === 8, timeoutMs: 60_000 });
    await services.orchestrators[0]!.stop('SIGKILL');
    await unlock();
    const all = await eventually(counts, { until: (found) => found?.['jobs'] === SCHEDULES, timeoutMs: 120_000 });
    expect(all).toEqual({
      runs: SCHEDULES,
      messages: SCHEDULES,
      schedulesWithMessages: SCHEDULES,
      turns: SCHEDULES,
      planned: SCHEDULES,
      jobs: SCHEDULES,
    });
  });

  it('starts each queued run of a trigger once, although one orchestrator is killed in the middle of its transactions', async () => {
    await services.addOrchestrator();
    const unlock = await services.lockWorkspace(client.workspaceId);
    await storeQueued();
    await services.untilBlocked();
    const leased = () =>
      services.query(`SELECT DISTINCT lease_id FROM work WHERE kind = 'trigger' AND lease_id IS NOT NULL`);
    await eventually(leased, { until: (rows) => rows.length === 8, timeoutMs: 60_000 });
    await services.orchestrators[1]!.stop('SIGKILL');
    await unlock();
    const all = await eventually(started, { until: (found) => found?.['runs'] === SCHEDULES, timeoutMs: 120_000 });
    expect(all).toEqual({
      runs: SCHEDULES,
      bodies: 0,
      messages: SCHEDULES,
      triggersWithMessages: SCHEDULES,
      files: SCHEDULES,
    });
  });
});
