import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { migrate } from '@uswarm/orchestrator/migrate';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import pg from 'pg';
import { latencyOf } from '../load/percentiles.js';
import { BenchError, USAGE } from '../settings.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { startOrchestrator } from '../world/processes.js';
import { seed } from '../world/seed.js';
import { startServers } from '../world/world.js';
import { type ScheduleFigures, scheduleTable, type StartedRun } from './schedule-table.js';

const PER_USER = 10;
const ORCHESTRATORS = 2;
const SPREAD_S = 60;
/** So that all orchestrators have started when schedules are due. */
const LEAD_S = 20;
const DEADLINE_MS = 600_000;

/**
 * `npm run bench -- schedules`: measures how schedules that are due in the same minute start. Prints a table and a JSON line.
 *
 * @throws BenchError
 */
export async function runSchedules(args: string[], say: (line: string) => void): Promise<void> {
  const schedules = readSchedules(args);
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-bench-'));
  const stack = new CloseStack(silentLogger);
  stack.defer('folder', () => rmSync(folder, { recursive: true, force: true }));
  try {
    const figures = await measure(folder, schedules, stack, say);
    say(`${scheduleTable(figures)}\n\n${JSON.stringify(figures)}`);
  } finally {
    await stack.close();
  }
}

function readSchedules(args: string[]): number {
  try {
    const { values } = parseArgs({ args, options: { schedules: { type: 'string' }, small: { type: 'boolean' } } });
    const schedules = Number(values.schedules ?? (values.small === true ? 200 : 10_000));
    if (Number.isInteger(schedules) && schedules >= PER_USER) return schedules;
  } catch {
    // The usage tells why.
  }
  throw new BenchError(USAGE);
}

/** Each schedule's start within the spread is what the orchestrator computes. */
const INSERT = `
  WITH made AS (
    INSERT INTO schedules (id, workspace_id, agent_id, title, prompt, start_time, rrule, time_zone, status, next_at)
    SELECT gen_random_uuid(), a.workspace_id, a.id, 'Title ' || n, 'What is new?', '2026-01-01T08:00:00', 'FREQ=DAILY', 'UTC',
      'active', date_trunc('second', now()) + $1 * interval '1 second'
    FROM agents a CROSS JOIN generate_series(1, ${PER_USER}) n WHERE a.kind = 'manager'
    LIMIT $2
    RETURNING id, workspace_id, next_at
  )
  INSERT INTO work (kind, subject_id, workspace_id, serial_key, run_at)
  SELECT 'schedule', id, workspace_id, id, next_at
    + ('x' || left(encode(sha256(convert_to(id::text, 'UTF8')), 'hex'), 8))::bit(32)::bigint % ${SPREAD_S * 1_000} * interval '1 millisecond'
  FROM made`;

const STARTED = `
  SELECT extract(epoch FROM r.started_at - r.due_at)::float8 AS "delayS",
    extract(epoch FROM r.started_at - j.run_at)::float8 AS "lateS", count(m.id)::int AS messages
  FROM bench_due j JOIN schedule_runs r ON r.schedule_id = j.subject_id
    LEFT JOIN messages m ON m.schedule_id = r.schedule_id AND m.workspace_id = j.workspace_id
  GROUP BY r.id, j.run_at`;

async function measure(
  folder: string,
  schedules: number,
  stack: CloseStack,
  say: (line: string) => void,
): Promise<ScheduleFigures> {
  const { postgres, valkey, issuer } = await startServers(join(folder, 'servers'), stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const workspaces = Math.ceil(schedules / PER_USER);
  say(`Writing ${workspaces} workspaces`);
  await seed(databaseUrl, { workspaces, messages: 0, conversation: 0 });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  stack.defer('connections', () => pool.end());
  const environment = orchestratorEnvironment({
    databaseUrl,
    redisUrl: valkey.url,
    issuer: issuer.issuer,
    signatureSecret: randomBytes(24).toString('hex'),
    directory: join(folder, 'files'),
    pool: 20,
  });
  for (let n = 1; n <= ORCHESTRATORS; n += 1) {
    const orchestrator = await startOrchestrator(environment, join(folder, `orchestrator-${n}.log`));
    stack.defer('orchestrator', orchestrator.close);
  }
  await pool.query(INSERT, [LEAD_S, schedules]);
  await pool.query(
    `CREATE TABLE bench_due AS SELECT subject_id, workspace_id, run_at FROM work WHERE kind = 'schedule'`,
  );
  say(`${schedules} schedules are due in ${LEAD_S} seconds`);
  const count = async () =>
    (await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM schedule_runs')).rows[0]?.count;
  const deadline = performance.now() + DEADLINE_MS;
  while (((await count()) ?? 0) < schedules) {
    if (performance.now() > deadline) throw new BenchError('The schedules did not start in time.');
    await sleep(1_000);
  }
  const { rows } = await pool.query<StartedRun>(STARTED);
  return { schedules, orchestrators: ORCHESTRATORS, spreadS: SPREAD_S, ...summary(rows) };
}

function summary(
  rows: readonly StartedRun[],
): Pick<ScheduleFigures, 'runs' | 'messages' | 'twice' | 'perSecond' | 'late' | 'lastS'> {
  const seconds = new Map<number, number>();
  for (const { delayS } of rows) seconds.set(Math.floor(delayS), (seconds.get(Math.floor(delayS)) ?? 0) + 1);
  const late = latencyOf(rows.map(({ lateS }) => lateS * 1_000));
  return {
    runs: rows.length,
    messages: rows.reduce((sum, one) => sum + one.messages, 0),
    twice: rows.filter(({ messages }) => messages !== 1).length,
    perSecond: latencyOf([...seconds.values()]),
    late,
    lastS: Math.max(...rows.map(({ delayS }) => delayS)),
  };
}
