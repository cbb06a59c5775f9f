import { describe, expect, it } from '@jest/globals';
import { type Conversation, type ErrorBody, LIMITS, type MessageData, type Schedule } from '@uswarm/contract';
import { createSchedule, makeDue, schedulesOf, watchSchedule, WEEKDAYS } from '../../../test/schedules.js';
import { TURN_CONTEXT } from '../../../test/turn-context.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';

const FAILED = {
  turnStatus: 'failed',
  messageStatus: 'failed',
  text: 'The model refused.',
  errorCode: 'model_refused',
} as const;
const ANSWERED = { turnStatus: 'done', messageStatus: 'delivered', text: 'Trains are fast.', errorCode: null } as const;
const STOPPED = { turnStatus: 'stopped', messageStatus: 'failed', text: '', errorCode: 'stopped' } as const;

describe('schedules', () => {
  const world = useTurnFixture({ SCHEDULES_SPREAD_S: '0', SCHEDULES_PER_USER: '3' });

  /** Ends the queued turn of a run. */
  async function answer(reply: typeof ANSWERED | typeof FAILED | typeof STOPPED): Promise<void> {
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    await writer.finish(reply);
  }

  const create = (body?: Record<string, unknown>) => createSchedule(world.user, world.home, body);
  const watch = ({ id }: Schedule) => watchSchedule(world.user, world.home, id);
  const messagesOf = async (conversationId: string | null) => {
    const path = `${world.home.workspace}/conversations/${conversationId}/messages?direction=forward`;
    return (await world.user.get<{ data: MessageData[] }>(path)).body.data;
  };
  const fieldsOf = async (body: Record<string, unknown>) =>
    (await world.user.post<ErrorBody>(schedulesOf(world.home), body, 400)).body.extra?.['fields'];

  it('are created for the manager, in the zone of the device, with their next time', async () => {
    const device = { 'x-device-id': crypto.randomUUID(), 'x-timezone': 'America/New_York' };
    await world.user.with(device).get('/v1/users/profile');
    const { time_zone: _, ...body } = WEEKDAYS;
    const { body: made } = await world.user.with(device).post<{ data: Schedule }>(schedulesOf(world.home), body, 201);
    const schedule = made.data;
    expect(schedule).toMatchObject({
      ...body,
      start_time: '2026-01-05T08:00:00',
      time_zone: 'America/New_York',
      agent_id: world.home.agents.find(({ role }) => role === 'Manager')?.id ?? world.home.agents[0]?.id,
      status: 'active',
      conversation_id: null,
      last_run: null,
    });
    const next = new Date(schedule.next_run_at ?? 0);
    expect(next.getTime()).toBeGreaterThan(Date.now());
    expect(next.toLocaleTimeString('en-GB', { timeZone: 'America/New_York' })).toBe('08:00:00');
    const { body: list } = await world.user.get<{ data: Schedule[] }>(schedulesOf(world.home));
    expect(list.data).toEqual([schedule]);
  });

  it.each([
    [{ rrule: 'FREQ=DAYLY' }, 'rrule', 'FREQ is not valid'],
    [{ rrule: 'FREQ=MINUTELY' }, 'rrule', 'at least 15 minutes apart'],
    [{ rrule: null, start_time: '2020-01-01T08:00' }, 'start_time', 'is in the past'],
    [{ rrule: 'FREQ=DAILY;UNTIL=20260101' }, 'rrule', 'no time after now'],
    [{ start_time: '2026-12-04T08:00:00Z' }, 'start_time', 'must be a local time'],
    [{ start_time: '2026-02-30T08:00' }, 'start_time', 'must be a local time'],
    [{ time_zone: 'Mars/Base' }, 'time_zone', 'is not an IANA zone'],
  ])('refuses %j, and names the field and the rule', async (body, path, message) => {
    expect(await fieldsOf({ ...WEEKDAYS, ...body })).toEqual([{ path, message: expect.stringContaining(message) }]);
  });

  it('are limited per user, until one is deleted', async () => {
    const made = [await create(), await create(), await create()];
    expect(await world.user.refusal('POST', schedulesOf(world.home), WEEKDAYS)).toBe('schedule_limit_reached');
    await world.user.delete(watch(made[0]!).path, undefined, 204);
    await create();
    expect(await world.user.refusal('GET', watch(made[0]!).path)).toBe('schedule_not_found');
  });

  it('are limited also if they are created in two workspaces at the same time', async () => {
    const other = (await world.user.post<{ data: { id: string } }>('/v1/workspaces', { name: 'Other' }, 201)).body.data;
    const paths = [`/v1/workspaces/${other.id}/schedules`, schedulesOf(world.home), `${world.home.workspace}/triggers`];
    const bodies = [WEEKDAYS, WEEKDAYS, { prompt: 'Read it.' }];
    const sent = Array.from({ length: 12 }, (_, n) =>
      world.user.raw({
        method: 'POST',
        path: paths[n % 3]!,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodies[n % 3]),
      }),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
  });

  it('belong to their user only', async () => {
    const schedule = await create();
    const other = await world.uswarm.user();
    expect(await other.refusal('GET', watch(schedule).path)).toBe('workspace_not_found');
    const home = await world.uswarm.home(other);
    expect(await other.refusal('GET', `${schedulesOf(home)}/${schedule.id}`)).toBe('schedule_not_found');
  });

  it('keep their local time when the zone changes', async () => {
    const schedule = await create();
    const { body } = await world.user.patch<{ data: Schedule }>(watch(schedule).path, { time_zone: 'Asia/Tokyo' }, 200);
    const next = new Date(body.data.next_run_at ?? 0);
    expect(next.toLocaleTimeString('en-GB', { timeZone: 'Asia/Tokyo' })).toBe('08:00:00');
    expect(body.data).toMatchObject({
      time_zone: 'Asia/Tokyo',
      start_time: schedule.start_time,
      prompt: schedule.prompt,
    });
  });

  it('run as a message in their own conversation, and have outcome and cost in their history', async () => {
    const schedule = await create({ token_limit: 50_000 });
    const watched = watch(schedule);
    const dueAt = await makeDue(world.uswarm, schedule.id);
    const [running] = await watched.untilRuns(1);
    expect(running).toMatchObject({
      due_at: dueAt.toISOString(),
      status: 'running',
      is_manual: false,
      finished_at: null,
    });
    const { conversation_id: conversationId, next_run_at: next } = await watched.read();
    expect(Date.parse(next ?? '')).toBeGreaterThan(Date.now());

    const job = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(job);
    const turn = await world.uswarm.database
      .selectFrom('turns')
      .select(['tokens_budget', 'schedule_run_id'])
      .where('id', '=', job.subjectId)
      .executeTakeFirstOrThrow();
    expect(turn).toEqual({ tokens_budget: 50_000, schedule_run_id: running?.id });
    await writer.begin();
    await world.uswarm.database
      .insertInto('usage_entries')
      .values({
        turn_id: job.subjectId,
        step: 1,
        user_id: await world.uswarm.idOf(world.user),
        workspace_id: world.home.workspaceId,
        provider: 'p',
        model: 'm',
        prompt_tokens: 30,
        completion_tokens: 12,
        cost_micros: 7,
      })
      .execute();
    await writer.finish(ANSWERED);
    expect(await watched.runs()).toMatchObject([
      {
        id: running?.id,
        status: 'completed',
        error_code: null,
        total_tokens: 42,
        cost_micros: 7,
        finished_at: expect.any(String),
      },
    ]);
    const { body } = await world.user.get<{ data: Conversation }>(
      `${world.home.workspace}/conversations/${conversationId}`,
    );
    expect(body.data).toMatchObject({ title: 'Morning news', type: 'swarm' });
    expect(await messagesOf(conversationId)).toMatchObject([
      { id: running?.message_id, role: 'user', schedule_id: schedule.id, content: { text: WEEKDAYS.prompt } },
      { role: 'agent', content: { text: 'Trains are fast.' } },
    ]);
  });

  it('make up for a downtime of days with one run', async () => {
    const schedule = await create({ rrule: 'FREQ=HOURLY' });
    const watched = watch(schedule);
    await makeDue(world.uswarm, schedule.id, 5 * 86_400);
    await watched.untilRuns(1);
    await answer(ANSWERED);
    const { next_run_at: next, last_run: last } = await watched.read();
    expect(Date.parse(next ?? '') - Date.now()).toBeGreaterThan(0);
    expect(last?.status).toBe('completed');
    expect(await watched.runs()).toHaveLength(1);
  });

  it('run once without a rule, and are finished then', async () => {
    const soon = new Date(Date.now() + 3_000).toISOString().slice(0, 19);
    const schedule = await create({ rrule: null, start_time: soon, time_zone: 'UTC' });
    const watched = watch(schedule);
    await watched.untilRuns(1);
    expect(await watched.read()).toMatchObject({ status: 'finished', next_run_at: null });
    await answer(ANSWERED);
    const again = { start_time: '2099-12-05T08:00', time_zone: 'UTC' };
    const { body } = await world.user.patch<{ data: Schedule }>(watched.path, again, 200);
    expect(body.data).toMatchObject({ status: 'active', next_run_at: '2099-12-05T08:00:00.000Z' });
  });

  it('skip a time while the previous run has not ended, and go on when its messages are deleted', async () => {
    const schedule = await create();
    const watched = watch(schedule);
    await makeDue(world.uswarm, schedule.id, 30);
    const [first] = await watched.untilRuns(1);
    await makeDue(world.uswarm, schedule.id, 20);
    const [skipped] = await watched.untilRuns(2);
    expect(skipped).toMatchObject({ status: 'skipped', message_id: null, finished_at: expect.any(String) });
    expect(await world.user.refusal('POST', `${watched.path}/run`)).toBe('schedule_running');
    await world.user.delete(`${world.home.workspace}/messages/${first?.message_id}`, undefined, 204);
    expect((await watched.runs())[1]?.status).toBe('stopped');
    await makeDue(world.uswarm, schedule.id, 10);
    expect((await watched.untilRuns(3))[0]?.status).toBe('running');
  });

  it('rest while paused, run on demand, and resume with their next time', async () => {
    const schedule = await create();
    const watched = watch(schedule);
    const { body: paused } = await world.user.post<{ data: Schedule }>(`${watched.path}/pause`, undefined, 200);
    expect(paused.data).toMatchObject({ status: 'paused', paused_by: 'user', next_run_at: null });
    const jobs = world.uswarm.database.selectFrom('work').select('kind').where('subject_id', '=', schedule.id);
    expect(await jobs.execute()).toEqual([]);
    const { body: run } = await world.user.post<{ data: unknown }>(`${watched.path}/run`, undefined, 201);
    expect(run.data).toMatchObject({ is_manual: true, status: 'running' });
    await answer(STOPPED);
    expect(await watched.read()).toMatchObject({ status: 'paused', failures: 0, last_run: { status: 'stopped' } });
    const { body: resumed } = await world.user.post<{ data: Schedule }>(`${watched.path}/resume`, undefined, 200);
    expect(resumed.data).toMatchObject({ status: 'active', paused_by: null });
    expect(await jobs.execute()).toEqual([{ kind: 'schedule' }]);
  });

  it('pause after five failures in a row, and a message tells the user', async () => {
    const schedule = await create();
    const watched = watch(schedule);
    for (let n = 1; n <= LIMITS.scheduleFailures; n += 1) {
      await makeDue(world.uswarm, schedule.id, 100 - n * 10);
      await watched.untilRuns(n);
      await answer(FAILED);
    }
    expect(await watched.read()).toMatchObject({
      status: 'paused',
      paused_by: 'failures',
      failures: 5,
      next_run_at: null,
    });
    const outcomes = (await watched.runs()).map(({ status, error_code: code }) => `${status}: ${code}`);
    expect(outcomes).toEqual(outcomes.map(() => 'failed: model_refused'));
    const { conversation_id: conversationId } = await watched.read();
    const notes = (await messagesOf(conversationId)).filter(({ role }) => role === 'system');
    expect(notes).toMatchObject([{ content: { text: expect.stringContaining('“Morning news” is paused') } }]);
  });

  it('count a run that could not begin as failed, with the reason', async () => {
    const agent = world.home.agents.find(({ slug }) => slug === 'researcher');
    const schedule = await create({ agent_id: agent?.id });
    const watched = watch(schedule);
    await world.uswarm.database
      .updateTable('agents')
      .set({ deleted_at: new Date() })
      .where('id', '=', agent?.id ?? '')
      .execute();
    await makeDue(world.uswarm, schedule.id);
    const [run] = await watched.untilRuns(1);
    expect(run).toMatchObject({ status: 'failed', error_code: 'agent_deleted', message_id: null });
    expect(await watched.read()).toMatchObject({ status: 'active', failures: 1, conversation_id: null });
    for (let n = 2; n <= LIMITS.scheduleFailures; n += 1) {
      await makeDue(world.uswarm, schedule.id, 100 - n * 10);
      await watched.untilRuns(n);
    }
    expect(await watched.read()).toMatchObject({ status: 'paused', paused_by: 'failures', conversation_id: null });
    const notes = (await messagesOf(world.home.conversationId)).filter(({ role }) => role === 'system');
    expect(notes).toMatchObject([{ content: { text: expect.stringContaining('“Morning news” is paused') } }]);
  });

  it('wait for a decision in a run, which a later time does not withdraw, and end after it', async () => {
    const schedule = await create();
    const watched = watch(schedule);
    await makeDue(world.uswarm, schedule.id, 30);
    await watched.untilRuns(1);
    const budget = async () => ({ tokens: 1_000 });
    const limits = { reached: async () => undefined, reserve: budget, turnBudget: budget };
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim(), { limits });
    await writer.begin();
    await writer.setInstance({ instance: { id: 'i', budgeted: true, context: TURN_CONTEXT }, untrusted: [] });
    await writer.askForTokens('');
    expect((await watched.runs())[0]?.status).toBe('waiting');
    await makeDue(world.uswarm, schedule.id, 10);
    expect((await watched.untilRuns(2)).map(({ status }) => status)).toEqual(['skipped', 'waiting']);
    const { conversation_id: conversationId } = await watched.read();
    const card = (await messagesOf(conversationId)).find(({ content }) => content.type === 'action_card');
    const content = card?.content.type === 'action_card' ? card.content : undefined;
    expect(content?.selected_action_id).toBeNull();

    const decision = { action_id: content?.actions[0]?.id };
    await world.user.post(`${world.home.workspace}/messages/${card?.id}/action`, decision, 200);
    expect((await watched.runs())[1]?.status).toBe('running');
    await answer(ANSWERED);
    expect((await watched.runs())[1]).toMatchObject({ status: 'completed', error_code: null });
  });
});
