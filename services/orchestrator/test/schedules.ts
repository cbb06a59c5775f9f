import type { Schedule, ScheduleRun } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import type { Home, TestOrchestrator, TestUser } from './test-orchestrator.js';

export const WEEKDAYS = {
  title: 'Morning news',
  prompt: 'What is new about trains?',
  start_time: '2026-01-05T08:00',
  rrule: 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
  time_zone: 'Europe/Berlin',
};

export const schedulesOf = (home: Pick<Home, 'workspace'>): string => `${home.workspace}/schedules`;

export async function createSchedule(
  user: TestUser,
  home: Pick<Home, 'workspace'>,
  body: Record<string, unknown> = {},
): Promise<Schedule> {
  return (await user.post<{ data: Schedule }>(schedulesOf(home), { ...WEEKDAYS, ...body }, 201)).body.data;
}

/** Moves the next time of a schedule into the past, as if an orchestrator had been down since. */
export async function makeDue(
  { database }: Pick<TestOrchestrator, 'database'>,
  id: string,
  secondsAgo = 1,
): Promise<Date> {
  const at = new Date(Math.floor(Date.now() / 1_000 - secondsAgo) * 1_000);
  await database.updateTable('schedules').set({ next_at: at }).where('id', '=', id).execute();
  await sql`UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'schedule' AND subject_id = ${id}`.execute(
    database,
  );
  return at;
}

/** A schedule's API, and its runs, newest first. */
export function watchSchedule(user: TestUser, home: Pick<Home, 'workspace'>, id: string) {
  const path = `${schedulesOf(home)}/${id}`;
  const read = async () => (await user.get<{ data: Schedule }>(path)).body.data;
  const runs = async () => (await user.get<{ data: ScheduleRun[] }>(`${path}/runs`)).body.data;
  return {
    path,
    read,
    runs,
    untilRuns: (count: number) => eventually(runs, { until: (all) => all.length >= count, timeoutMs: 30_000 }),
    until: (isReached: (schedule: Schedule) => boolean) => eventually(read, { until: isReached, timeoutMs: 30_000 }),
  };
}
