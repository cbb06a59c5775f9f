import { describe, expect, it } from '@jest/globals';
import type { MessageData, Schedule } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { useDelegatingAgents } from '../test/delegating-agents.js';

const DAILY = {
  prompt: 'Remind me of tea.',
  start_time: '2026-01-01T08:00',
  rrule: 'FREQ=DAILY',
  time_zone: 'Europe/Berlin',
};
const FROM_SCHEDULE = 'A schedule sent this';

const callOf = (name: string, args: Record<string, unknown>) => [{ toolCalls: [{ name, arguments: args }] }];

describe('a schedule that a user asks for in a chat', () => {
  const world = useDelegatingAgents();

  const schedules = async () => {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/schedules`);
    return (body as { data: Schedule[] }).data;
  };
  const makeDue = (id: string | undefined) =>
    world.services.query(
      `WITH due AS (UPDATE schedules SET next_at = date_trunc('second', now()) WHERE id = $1 RETURNING id)
       UPDATE work SET run_at = now(), attempts = 0 FROM due WHERE kind = 'schedule' AND subject_id = due.id`,
      [id],
    );

  it('is created after the model repaired its call, runs in a separate conversation, and cannot create another one', async () => {
    let outcomes: readonly string[] = [];
    let inRun: readonly string[] = [];
    world.behave = (_agent, prompt, results) => {
      if (prompt.includes(FROM_SCHEDULE)) {
        inRun = results;
        return results.length === 0 ? callOf('create_schedule', DAILY) : [{ text: 'Drink your tea.' }];
      }
      outcomes = results;
      if (results.length === 0) return callOf('create_schedule', { ...DAILY, rrule: 'DAILY' });
      return results.length === 1 ? callOf('create_schedule', DAILY) : [{ text: 'I will remind you.' }];
    };
    await world.client.send('Remind me of tea every day at 8');
    await world.answer('I will remind you.');
    expect(outcomes[0]).toContain('rrule: “DAILY” is not a rule part');
    expect(outcomes[1]).toMatch(/runs next at \d{4}-\d\d-\d\dT08:00:00 in Europe\/Berlin/);
    const [schedule, ...others] = await schedules();
    expect(others).toEqual([]);
    expect(schedule).toMatchObject({ prompt: DAILY.prompt, status: 'active', conversation_id: null });

    await makeDue(schedule?.id);
    await world.client.saw(
      'message.new',
      ({ message }: { message: MessageData }) => message.schedule_id === schedule?.id,
    );
    await world.answer('Drink your tea.');
    const ended = await eventually(schedules, {
      until: ([one]) => one?.last_run?.status === 'completed',
      timeoutMs: 20_000,
    });
    expect(ended).toHaveLength(1);
    expect(ended[0]?.last_run?.total_tokens).toBeGreaterThan(0);
    expect(ended[0]?.conversation_id).not.toBe(world.client.conversationId);
    expect(inRun[0]).toContain('A schedule started this.');
    await world.expectNothingLeft();
  });

  it('is listed, paused, resumed, changed and deleted by its id', async () => {
    const made = await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/schedules`, DAILY);
    const { id } = (made.body as { data: Schedule }).data;
    const calls = [
      callOf('list_schedules', {}),
      callOf('change_schedule', { id, status: 'paused' }),
      callOf('change_schedule', { id, status: 'active', time_zone: 'Asia/Tokyo' }),
      callOf('change_schedule', { id, start_time: 'tomorrow' }),
      callOf('delete_schedule', { id }),
      callOf('delete_schedule', { id }),
    ];
    let outcomes: readonly string[] = [];
    world.behave = (_agent, _prompt, results) => {
      outcomes = results;
      return calls[results.length] ?? [{ text: 'Deleted it.' }];
    };
    await world.client.send('Show my schedules, and delete them');
    await world.answer('Deleted it.');
    expect(outcomes).toEqual([
      expect.stringContaining(id),
      expect.stringContaining(`The schedule ${id} is paused.`),
      expect.stringContaining('08:00:00 in Asia/Tokyo'),
      expect.stringContaining('start_time: must be a local time'),
      expect.stringContaining('Deleted the schedule.'),
      expect.stringContaining('There is no schedule with this id'),
    ]);
    expect(await schedules()).toEqual([]);
  });
});
