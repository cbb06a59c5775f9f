import { randomUUIDv7 } from 'node:crypto';
import { ApiError, LIMITS } from '@uswarm/contract';
import { SCHEDULES_TOOL } from '@uswarm/contract/agent-tools';
import type { Clock } from '@uswarm/service-kit';
import { z } from 'zod';
import type { Database, Transaction } from '../../platform/database/database.js';
import {
  findSchedule,
  findScheduleOwner,
  isScheduled,
  listSchedules,
  type ScheduleRow,
} from '../../records/schedule-rows.js';
import { titleOf } from '../../records/title.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import { type Change, type Commit, definePlatformTool, type PlatformTool } from '../../turns/tools/platform-tool.js';
import type { ScheduleChanges } from './schedule-changes.js';
import { InvalidTimes, localAt } from './schedule-times.js';

export interface ScheduleToolDeps {
  database: Database;
  changes: ScheduleChanges;
  clock: Clock;
}

const LISTED = 100;

const REFUSALS: Record<string, string> = {
  schedule_not_found: 'There is no schedule with this id. Use list_schedules to find it.',
  schedule_limit_reached: 'The user has as many schedules as possible. Ask which one to delete.',
};

/** A run must not plan further runs, which no user would end. */
const IN_RUN = 'A schedule started this. Schedules are only changed when the user asks for it in the chat.';

const base = { switchedBy: SCHEDULES_TOOL, maxDepth: 0, effect: 'own', asksAfterUntrustedContent: true } as const;

const Id = z.uuid().toLowerCase().describe('The id from list_schedules.');
const fields = {
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.schedulePrompt)
    .describe('What you will be asked at each run, complete in itself.'),
  start_time: z.string().max(32).describe('Local time of the first run, such as 2026-12-04T08:00.'),
  rrule: z.string().max(500).describe('RFC 5545, such as FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR. Leave it out for one run.'),
  time_zone: z.string().max(200).describe("IANA name, if it is not the user's."),
  title: z.string().trim().min(1).max(LIMITS.scheduleTitle).describe('A few words.'),
};

const LABELS: Record<keyof typeof fields, string> = {
  title: 'Title',
  prompt: 'Request',
  start_time: 'From',
  rrule: 'Repeats',
  time_zone: 'Time zone',
};

function changesOf(
  after: { [Field in keyof typeof fields]?: string | null | undefined },
  before?: ScheduleRow,
): Change[] {
  return (Object.keys(LABELS) as (keyof typeof fields)[]).flatMap((field) => {
    const { [field]: value } = after;
    if (value === undefined) return [];
    const old = before?.[field] ?? undefined;
    return [{ label: LABELS[field], ...(old === undefined ? {} : { before: old }), after: value ?? '' }];
  });
}

/** For the model: each line has what it needs to tell the user, or to change it. */
function lineOf(row: ScheduleRow): string {
  const { id, title, prompt, start_time, rrule, time_zone, status, next_at: next } = row;
  const next_run = next === null ? null : localAt(next.getTime(), time_zone);
  return JSON.stringify({ id, title, prompt, start_time, rrule, time_zone, status, next_run });
}

async function sentence(tx: Transaction, workspaceId: string, id: string): Promise<string> {
  const row = await findSchedule(tx, workspaceId, id);
  if (row === undefined) return '';
  const { time_zone: zone, next_at: next, status } = row;
  if (next === null) return `The schedule ${id} is ${status}.`;
  return `The schedule ${id} runs next at ${localAt(next.getTime(), zone)} in ${zone}.`;
}

/** The changes check before they write, so the transaction can continue after an error. */
const orRefused =
  (userMessageId: string, commit: Commit): Commit =>
  async (tx) => {
    if (await isScheduled(tx, userMessageId)) return failed(IN_RUN);
    try {
      return await commit(tx);
    } catch (error) {
      if (error instanceof InvalidTimes) return failed(`${error.field}: ${error.message}.`);
      const refusal = error instanceof ApiError ? REFUSALS[error.code] : undefined;
      if (refusal === undefined) throw error;
      return failed(refusal);
    }
  };

export function createScheduleTools({ database, changes, clock }: ScheduleToolDeps): PlatformTool[] {
  const now = (): number => clock.now().getTime();

  const create = definePlatformTool({
    ...base,
    name: 'create_schedule',
    hint: 'act later or regularly, remind',
    description:
      'Lets you do something later or regularly, also reminders, if the user asks for it. Each run is a message to you in a separate ' +
      'conversation. Tell the user the time and the zone of the next run.',
    input: z.object({
      ...fields,
      rrule: fields.rrule.optional(),
      time_zone: fields.time_zone.optional(),
      title: fields.title.optional(),
    }),
    describe: ({ title, prompt }) => `Scheduling “${title ?? titleOf(prompt) ?? ''}”`,
    changes: (input) => Promise.resolve(changesOf(input)),
    prepare: ({ prompt, start_time, rrule = null, time_zone, title }, { workspaceId, agentId, userMessageId }) =>
      orRefused(userMessageId, async (tx) => {
        const known = time_zone ?? (await findScheduleOwner(tx, workspaceId))?.timeZone ?? '';
        const zone = known === '' ? 'UTC' : known;
        const name = title ?? titleOf(prompt) ?? prompt.slice(0, LIMITS.scheduleTitle);
        const times = { start_time, rrule, time_zone: zone };
        const id = randomUUIDv7();
        const wanted = { id, workspaceId, agentId, prompt, title: name, tokenLimit: null, ...times };
        await changes.create(wanted, tx);
        const unknown = known === '' ? " The user's zone is unknown, so UTC was used: ask for it." : '';
        return succeeded(`${await sentence(tx, workspaceId, id)}${unknown}`);
      }),
  });

  const list = definePlatformTool({
    switchedBy: SCHEDULES_TOOL,
    name: 'list_schedules',
    hint: 'list schedules',
    description: "Lists the user's schedules, newest first.",
    effect: 'read',
    input: z.object({}),
    describe: () => 'Listing schedules',
    async prepare(_, { workspaceId }) {
      const rows = await listSchedules(database, workspaceId, { limit: LISTED });
      const zone = (await findScheduleOwner(database, workspaceId))?.timeZone ?? '';
      const time = `It is ${localAt(now(), zone === '' ? 'UTC' : zone)} in ${zone === '' ? 'UTC' : zone}.`;
      return withOutcome(
        succeeded(rows.length === 0 ? 'There are no schedules.' : [time, ...rows.map(lineOf)].join('\n')),
      );
    },
  });

  const change = definePlatformTool({
    ...base,
    name: 'change_schedule',
    hint: 'change or pause a schedule',
    description:
      'Changes, pauses or resumes a schedule if the user asks for it. Fields that you leave out stay as they are.',
    input: z.object({
      id: Id,
      ...z.object(fields).partial().shape,
      rrule: fields.rrule.optional().describe('A new rule. Empty: it runs once.'),
      status: z.enum(['active', 'paused']).optional(),
    }),
    describe: ({ title, status }) =>
      status === 'paused' ? 'Pausing a schedule' : `Changing a schedule${title === undefined ? '' : ` to “${title}”`}`,
    async changes({ id, status, ...input }, { workspaceId }) {
      const before = await findSchedule(database, workspaceId, id);
      return [
        { label: 'Schedule', after: before?.title ?? id },
        ...changesOf(input, before),
        ...(status === undefined ? [] : [{ label: 'Status', after: status }]),
      ];
    },
    prepare: ({ id, status, rrule, ...patch }, { workspaceId, userMessageId }) =>
      orRefused(userMessageId, async (tx) => {
        const rule = rrule === undefined ? {} : { rrule: rrule.trim() === '' ? null : rrule };
        await changes.change(workspaceId, id, { ...patch, ...rule }, tx);
        if (status === 'paused') await changes.pause(workspaceId, id, tx);
        if (status === 'active') await changes.resume(workspaceId, id, tx);
        return succeeded(await sentence(tx, workspaceId, id));
      }),
  });

  const remove = definePlatformTool({
    ...base,
    name: 'delete_schedule',
    hint: 'delete a schedule',
    description: 'Deletes a schedule if the user asks for it.',
    input: z.object({ id: Id }),
    describe: () => 'Deleting a schedule',
    async changes({ id }, { workspaceId }) {
      const before = await findSchedule(database, workspaceId, id);
      return [{ label: 'Schedule', before: before?.title ?? id, after: '' }];
    },
    prepare: ({ id }, { workspaceId, userMessageId }) =>
      orRefused(userMessageId, async (tx) => {
        await changes.remove(workspaceId, id, tx);
        return succeeded('Deleted the schedule.');
      }),
  });

  return [create, list, change, remove];
}
