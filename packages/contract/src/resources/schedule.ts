import { z } from 'zod';
import { SchedulePause, ScheduleRunStatus, ScheduleStatus } from '../enums.js';
import { LIMITS } from '../limits.js';
import { pagination } from './message.js';
import { Id, STRICT, Timestamp } from './primitives.js';

const startTime = (schema: z.ZodString) =>
  schema.meta({
    description:
      'The first time that it can run, as a local time in `time_zone` without an offset: `2026-12-04T08:00:00`.',
  });
const WITHOUT_START = 'A recurrence rule of RFC 5545 without its start, such as `FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR`.';
const RULE = `${WITHOUT_START} Null: it runs once.`;
const ONCE = `${WITHOUT_START} Without it, the schedule runs once.`;
export const PROMPT = 'What the agent is asked to do at each run.';
const TITLE = `Up to ${LIMITS.scheduleTitle} characters.`;
const TOKENS = 'The most tokens that a run may use before it asks the user.';
const tokenLimit = z.int().min(1_000).max(1e12);
export const nullableTokenLimit = tokenLimit.nullable().meta({
  description: `${TOKENS} Null: as many as an answer in a chat.`,
});
const timeZone = z
  .string()
  .meta({ description: 'An IANA name such as `Europe/Berlin`, or an offset such as `+05:30`.' });

export const ScheduleRun = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the run in the history.' }),
    due_at: Timestamp.meta({ description: 'The time for which it ran.' }),
    is_manual: z.boolean().meta({ description: 'Whether the user asked for it outside the recurrence.' }),
    status: ScheduleRunStatus.meta({ description: 'The outcome, or how far it is.' }),
    message_id: Id.nullable().meta({
      description: 'The user message that started it. Null if none was stored, or if it was deleted.',
    }),
    error_code: z.string().nullable().meta({ description: 'Why it failed: a code as in responses or messages.' }),
    total_tokens: z
      .int()
      .nonnegative()
      .meta({ description: 'Tokens that it has used, with its tasks. 0 until it ends.' }),
    cost_micros: z.int().nonnegative().meta({
      description: 'Their cost in millionths of a US dollar, as far as models have a price. 0 until it ends.',
    }),
    started_at: Timestamp.meta({ description: 'When it was started, or skipped.' }),
    finished_at: Timestamp.nullable().meta({ description: 'Null until it ends.' }),
  })
  .meta({ id: 'ScheduleRun', description: 'One run of a schedule.' });
export type ScheduleRun = z.output<typeof ScheduleRun>;

export const Schedule = z
  .strictObject({
    id: Id.meta({ description: 'The schedule. Its messages have it as `schedule_id`.' }),
    title: z.string().meta({ description: 'For display. It names the conversation.' }),
    prompt: z.string().meta({ description: PROMPT }),
    agent_id: Id.meta({ description: 'The agent that runs it.' }),
    conversation_id: Id.nullable().meta({
      description: 'Where its runs are. Null before the first run, and after the conversation was deleted.',
    }),
    start_time: startTime(z.string()),
    rrule: z.string().nullable().meta({ description: RULE }),
    time_zone: timeZone,
    status: ScheduleStatus.meta({ description: 'Whether it runs.' }),
    paused_by: SchedulePause.nullable().meta({
      description: `Why it is paused: \`failures\` after ${LIMITS.scheduleFailures} failed runs in a row. Null unless it is paused.`,
    }),
    next_run_at: Timestamp.nullable().meta({ description: 'Null unless it is active.' }),
    failures: z.int().nonnegative().meta({ description: 'Failed runs since the last completed one.' }),
    token_limit: nullableTokenLimit,
    last_run: ScheduleRun.nullable().meta({ description: 'The latest run; null before the first one.' }),
    created_at: Timestamp.meta({ description: 'When it was created.' }),
    updated_at: Timestamp.meta({ description: 'When it was last changed by the user or an agent.' }),
  })
  .meta({ id: 'Schedule', description: 'What an agent does later, or regularly.' });
export type Schedule = z.output<typeof Schedule>;

export const SchedulePage = z
  .strictObject({
    data: z.array(Schedule).meta({ description: 'Schedules, newest first.' }),
    pagination,
  })
  .meta({ id: 'SchedulePage', description: 'A page of workspace schedules.' });
export type SchedulePage = z.output<typeof SchedulePage>;

/** Fields that clients set, also of triggers. */
export const runFields = {
  title: z.string().min(1).max(LIMITS.scheduleTitle).meta({ description: TITLE }),
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.schedulePrompt)
    .meta({
      description: `${PROMPT} Up to ${LIMITS.schedulePrompt} characters.`,
    }),
  agent_id: z.uuid().meta({ description: 'The agent that runs it.' }),
  token_limit: nullableTokenLimit,
};
const changeable = {
  ...runFields,
  start_time: startTime(z.string().max(32)),
  rrule: z.string().max(500).nullable().meta({ description: RULE }),
  time_zone: z.string().min(1).max(200).meta({
    description: 'An IANA name, or another name of a zone that devices send.',
  }),
};
/** As `runFields`, when something is created. */
export const newRunFields = {
  title: runFields.title.optional().meta({ description: `${TITLE} Without it, the beginning of the prompt.` }),
  prompt: runFields.prompt,
  agent_id: runFields.agent_id.optional().meta({ description: 'The agent that runs it. Without it, the manager.' }),
  token_limit: tokenLimit.optional().meta({
    description: `${TOKENS} Without it, as many as an answer in a chat.`,
  }),
};

export const CreateScheduleBody = z
  .strictObject({
    ...newRunFields,
    start_time: changeable.start_time,
    rrule: z.string().max(500).optional().meta({ description: ONCE }),
    time_zone: changeable.time_zone.optional().meta({
      description:
        'An IANA name. Without it, the zone of the device that was used last, else of the profile, else UTC.',
    }),
  })
  .meta({ id: 'CreateScheduleBody', description: `What is to run, and when. ${STRICT}` });
export type CreateScheduleBody = z.output<typeof CreateScheduleBody>;

export const UpdateScheduleBody = z
  .strictObject(changeable)
  .partial()
  .meta({ id: 'UpdateScheduleBody', description: `What changes. A field that is absent stays as it is. ${STRICT}` });
export type UpdateScheduleBody = z.output<typeof UpdateScheduleBody>;
