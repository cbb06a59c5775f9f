import { randomUUID } from 'node:crypto';
import { GOOGLE_CALENDAR_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { fitting } from '../../platform/http/bounded-list.js';
import { entriesOf, oddAsAbsent } from '../../platform/http/foreign-answer.js';
import { oneLine } from '../../records/one-line.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import {
  type CallOwner,
  type Change,
  defineExternalTool,
  definePlatformTool,
  type Plan,
  type PlatformTool,
  type ToolCall,
  type ToolOutcome,
} from '../../turns/tools/platform-tool.js';
import { visibleText } from '../../records/visible-text.js';
import { Event, type EventTime, listedEvent, momentOf, nameOf } from './calendar-events.js';
import { leftOut } from './left-out.js';
import { type ProviderApi, RequestRefused } from './provider-api.js';
import { refusedBy } from './refusals.js';

export interface CalendarToolDeps {
  api: Pick<ProviderApi, 'call'>;
  /** Returns an IANA name or a UTC offset; '' if the zone is unknown. */
  timeZone: (userId: string) => Promise<string>;
}

const APP = 'Google Calendar';
/** Tools work on the user's main calendar. */
const EVENTS = 'calendars/primary/events';
const pathOf = (id: string): string => `${EVENTS}/${encodeURIComponent(id)}`;
const LISTED = 50;
/** Maximum characters for all listed events. */
const MAX_TEXT = 20_000;

const Events = z.object({ items: entriesOf(Event), nextPageToken: oddAsAbsent(z.string().min(1)) });

const Id = z.string().min(1).max(1024).describe('The id of the event, as listed.');
const Moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .describe('With time: ISO 8601 with the UTC offset of the user. For all-day events: a date.');
const Line = (max: number) => z.string().max(max).overwrite(oneLine);

const isDate = (moment: string): boolean => !moment.includes('T');
const toTime = (moment: string) =>
  isDate(moment) ? { date: moment, dateTime: null } : { dateTime: moment, date: null };
const isSame = (time: EventTime, moment: string): boolean =>
  Date.parse(momentOf(time)) === Date.parse(moment) && isDate(momentOf(time)) === isDate(moment);

/** Formats a moment for the user. An all-day event's last day is the day before its end. */
function shown(moment: string, timeZone: string): string {
  if (isDate(moment)) return moment;
  const zone = timeZone === '' ? 'UTC' : timeZone;
  const text = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: zone }).format(
    Date.parse(moment),
  );
  return `${text} (${zone})`;
}

/** @returns why an event cannot have these times */
function checkTimes(start: string, end: string): string | undefined {
  if (isDate(start) !== isDate(end)) return 'start and end are both dates, or both have a time.';
  if (Date.parse(end) <= Date.parse(start)) return 'the end is after the start. An all-day event ends on the next day.';
  return undefined;
}

/** Tells the user which event a call changes, and who is informed. */
const aboutEvent = ({ summary, attendees }: Event): Change[] => [
  { label: 'Event', after: oneLine(summary) },
  ...(attendees.length === 0 ? [] : [{ label: 'Informs', after: oneLine(attendees.map(nameOf).join(', ')) }]),
];

/** Attendees receive changes by mail. */
const notifying = (attendees: readonly unknown[] | undefined) => ({
  sendUpdates: (attendees ?? []).length > 0 ? 'all' : 'none',
});

/** Google recognizes repeated requests by event id and version. */
export function createCalendarTools({ api, timeZone }: CalendarToolDeps): PlatformTool[] {
  const common = { switchedBy: GOOGLE_CALENDAR_TOOL, provider: 'google_calendar' } as const;

  const get = ({ userId, signal }: Pick<ToolCall, 'userId'> & { signal?: AbortSignal }, id: string): Promise<Event> =>
    api.call(userId, { method: 'GET', path: pathOf(id), ...(signal === undefined ? {} : { signal }) }, Event);

  const span = async ({ userId }: ToolCall, start: string, end: string): Promise<string> => {
    const zone = await timeZone(userId);
    return `${shown(start, zone)} to ${shown(end, zone)}`;
  };

  /** Plans with the existing event's version, or reports why the event cannot be changed. */
  async function planChange(call: ToolCall, id: string): Promise<Plan> {
    try {
      const { etag, status } = await get(call, id);
      if (status === 'cancelled') return { outcome: failed('The event was deleted already.') };
      // Without the version, the call could overwrite a user's change.
      return etag === undefined ? { outcome: failed(`${APP} does not name the version of the event.`) } : { key: etag };
    } catch (error) {
      return { outcome: refusedBy(APP, error) };
    }
  }

  /** Sends a request. A refusal with one of these statuses may mean that an earlier attempt was executed. */
  async function change(
    request: () => Promise<ToolOutcome>,
    statuses: readonly number[],
    executed: () => Promise<ToolOutcome | undefined>,
  ): Promise<ToolOutcome> {
    try {
      return await request();
    } catch (error) {
      const may = error instanceof RequestRefused && statuses.includes(error.status);
      return (may ? await executed() : undefined) ?? refusedBy(APP, error);
    }
  }

  const created = (id: string): ToolOutcome => succeeded(`Created the event ${id}.`);
  const moved = (id: string): ToolOutcome => succeeded(`Moved the event ${id}.`);
  const deleted = (id: string): ToolOutcome => succeeded(`Deleted the event ${id}.`);

  /** Also finds deleted events. */
  const found = (owner: CallOwner, id: string): Promise<Event | undefined> =>
    get(owner, id).catch((error: unknown) => {
      if (error instanceof RequestRefused && error.status === 404) return undefined;
      throw error;
    });

  async function movedTo(
    { event_id: id, start, end }: { event_id: string; start: string; end: string },
    owner: CallOwner,
  ): Promise<ToolOutcome | undefined> {
    const event = await found(owner, id);
    return event !== undefined && isSame(event.start, start) && isSame(event.end, end) ? moved(id) : undefined;
  }

  async function gone(id: string, owner: CallOwner): Promise<ToolOutcome | undefined> {
    const event = await found(owner, id);
    return event === undefined || event.status === 'cancelled' ? deleted(id) : undefined;
  }

  const list = definePlatformTool({
    ...common,
    name: 'list_calendar_events',
    description: `Lists events in the calendar of the user, in the order of their start, at most ${LISTED}.`,
    effect: 'read',
    input: z.object({
      from: z.iso.datetime({ offset: true }).describe('ISO 8601 with the UTC offset of the user.'),
      to: z.iso.datetime({ offset: true }),
      query: Line(200).optional().describe('Words that the event contains.'),
    }),
    describe: ({ query }) => (query === undefined ? 'Reading the calendar' : `Searching the calendar for “${query}”`),
    async prepare({ from, to, query }, { userId, signal }) {
      const zone = await timeZone(userId);
      const filter = {
        timeMin: from,
        timeMax: to,
        singleEvents: 'true',
        orderBy: 'startTime',
        maxResults: String(LISTED),
        ...(query === undefined ? {} : { q: query }),
        // Google knows only names; without one, times have the calendar's zone.
        ...(/^[A-Z]/.test(zone) ? { timeZone: zone } : {}),
      };
      try {
        const { items, nextPageToken } = await api.call(
          userId,
          { method: 'GET', path: EVENTS, query: filter, signal },
          Events,
        );
        const { entries, odd } = items;
        const lines = fitting(entries.map(listedEvent), ({ length }) => length, MAX_TEXT);
        if (nextPageToken !== undefined || lines.length < entries.length)
          lines.push('There are more events. Ask for a shorter time.');
        lines.push(...leftOut(odd, 'event', 'events'));
        return withOutcome(succeeded(lines.length === 0 ? 'There are no events.' : lines.join('\n')));
      } catch (error) {
        return withOutcome(refusedBy(APP, error));
      }
    },
  });

  const create = defineExternalTool({
    ...common,
    name: 'create_calendar_event',
    description: 'Creates an event in the calendar of the user, and invites its attendees by mail.',
    effect: 'keyed',
    input: z.object({
      title: Line(1_000).min(1),
      start: Moment,
      end: Moment.describe('After the start; for all-day events, the day after the last one.'),
      location: Line(1_000).optional(),
      description: z.string().max(8_000).overwrite(visibleText).optional(),
      attendees: z.array(z.email()).max(50).optional().describe('Mail addresses.'),
    }),
    describe: ({ title }) => `Creating the event “${title}”`,
    changes: async ({ title, start, end, location, description, attendees }, call) => [
      { label: 'Title', after: title },
      { label: 'Time', after: await span(call, start, end) },
      ...(location === undefined ? [] : [{ label: 'Location', after: location }]),
      ...(attendees === undefined ? [] : [{ label: 'Invites', after: attendees.join(', ') }]),
      ...(description === undefined ? [] : [{ label: 'Description', after: description }]),
    ],
    plan({ start, end }) {
      const problem = checkTimes(start, end);
      // Google's ids have the letters a to v and digits.
      const plan = problem === undefined ? { key: randomUUID().replaceAll('-', '') } : { outcome: failed(problem) };
      return Promise.resolve(plan);
    },
    async lookUp(_input, key, { userId }) {
      const event = await found({ userId }, key);
      // If the user has deleted the event since then, it was created.
      return event === undefined ? undefined : created(key);
    },
    send({ title, start, end, attendees, ...others }, key, { userId }) {
      const body = {
        id: key,
        summary: title,
        start: toTime(start),
        end: toTime(end),
        ...others,
        ...(attendees === undefined ? {} : { attendees: attendees.map((email) => ({ email })) }),
      };
      return change(
        async () => {
          await api.call(userId, { method: 'POST', path: EVENTS, query: notifying(attendees), body }, z.unknown());
          return created(key);
        },
        [409],
        () => Promise.resolve(created(key)),
      );
    },
  });

  const move = defineExternalTool({
    ...common,
    name: 'move_calendar_event',
    description: 'Moves an event in the calendar of the user to another time, and informs its attendees.',
    effect: 'keyed',
    input: z.object({ event_id: Id, start: Moment, end: Moment }),
    describe: () => 'Moving an event',
    async changes({ event_id: id, start, end }, call) {
      const event = await get(call, id);
      const before = await span(call, momentOf(event.start), momentOf(event.end));
      return [...aboutEvent(event), { label: 'Time', before, after: await span(call, start, end) }];
    },
    async plan({ event_id: id, start, end }, call) {
      const problem = checkTimes(start, end);
      return problem === undefined ? planChange(call, id) : { outcome: failed(problem) };
    },
    lookUp: (input, _key, owner) => movedTo(input, owner),
    send(input, key, { userId }) {
      const { event_id: id, start, end } = input;
      const request = { method: 'PATCH', path: pathOf(id), query: { sendUpdates: 'all' }, ifMatch: key } as const;
      return change(
        async () => {
          await api.call(userId, { ...request, body: { start: toTime(start), end: toTime(end) } }, z.unknown());
          return moved(id);
        },
        [412],
        () => movedTo(input, { userId }),
      );
    },
  });

  const remove = defineExternalTool({
    ...common,
    name: 'delete_calendar_event',
    description: 'Deletes an event from the calendar of the user, and informs its attendees.',
    effect: 'keyed',
    input: z.object({ event_id: Id }),
    describe: () => 'Deleting an event',
    async changes({ event_id: id }, call) {
      const event = await get(call, id);
      const time = await span(call, momentOf(event.start), momentOf(event.end));
      return [...aboutEvent(event), { label: 'Time', after: time }];
    },
    plan: ({ event_id: id }, call) => planChange(call, id),
    lookUp: ({ event_id: id }, _key, owner) => gone(id, owner),
    send({ event_id: id }, key, { userId }) {
      const request = { method: 'DELETE', path: pathOf(id), query: { sendUpdates: 'all' }, ifMatch: key } as const;
      return change(
        async () => {
          await api.call(userId, request, z.unknown());
          return deleted(id);
        },
        [404, 410, 412],
        () => gone(id, { userId }),
      );
    },
  });

  return [list, create, move, remove];
}
