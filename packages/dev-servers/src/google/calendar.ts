import { z } from 'zod';
import { BadRequest, type DescribedRequest } from './discovery.js';

const Time = z.object({
  date: z.string().optional(),
  dateTime: z.string().optional(),
  timeZone: z.string().optional(),
});
const Event = z.looseObject({
  id: z.string().optional(),
  summary: z.string().optional(),
  start: Time,
  end: Time,
  attendees: z.array(z.looseObject({ email: z.string() })).optional(),
});

export type CalendarEvent = z.output<typeof Event> & { id: string; status: string; etag: string; updated: string };

export interface GoogleCalendar {
  /** Also the deleted ones, whose status is `cancelled`. */
  events: ReadonlyMap<string, CalendarEvent>;
  /** Addresses that were notified, once per change. */
  notified: readonly string[];
  /** Stores an event as if another app had created it. */
  add(event: z.input<typeof Event>): CalendarEvent;
  /** @throws BadRequest */
  handle(request: DescribedRequest, ifMatch: string | undefined): unknown;
}

const instant = ({ date, dateTime }: z.output<typeof Time>): number => Date.parse(dateTime ?? `${date}T00:00:00Z`);

/** The primary calendar of one user, with the rules of Google's documentation. Recurring events are not expanded. */
export function createGoogleCalendar(): GoogleCalendar {
  const events = new Map<string, CalendarEvent>();
  const notified: string[] = [];
  let version = 0;

  const stored = (event: z.output<typeof Event> & { id: string; status: string }): CalendarEvent => {
    version += 1;
    const row = { ...event, etag: `"${version}"`, updated: new Date().toISOString(), kind: 'calendar#event' };
    events.set(row.id, row);
    return row;
  };
  const notify = (event: z.output<typeof Event>, query: URLSearchParams): void => {
    if (query.get('sendUpdates') === 'all') notified.push(...(event.attendees ?? []).map(({ email }) => email));
  };
  const find = (id: string): CalendarEvent => {
    const event = events.get(id);
    if (event === undefined) throw new BadRequest(404, 'notFound', 'Not Found');
    return event;
  };
  const matching = (event: CalendarEvent, ifMatch: string | undefined): CalendarEvent => {
    if (ifMatch !== undefined && ifMatch !== event.etag)
      throw new BadRequest(412, 'conditionNotMet', 'Precondition Failed');
    return event;
  };
  /** Google removes fields that are set to null. */
  const withoutNulls = (body: unknown): unknown =>
    JSON.parse(JSON.stringify(body, (_, value: unknown) => (value === null ? undefined : value)));
  const parse = (body: unknown): z.output<typeof Event> => {
    const { data } = Event.safeParse(withoutNulls(body));
    if (data === undefined || Number.isNaN(instant(data.start)) || Number.isNaN(instant(data.end)))
      throw new BadRequest(400, 'required', 'Missing or invalid start or end time.');
    if (instant(data.end) < instant(data.start))
      throw new BadRequest(400, 'timeRangeEmpty', 'The specified time range is empty.');
    return data;
  };

  function insert(body: unknown, query: URLSearchParams): CalendarEvent {
    const event = parse(body);
    const id = event.id ?? crypto.randomUUID().replaceAll('-', '');
    if (!/^[a-v0-9]{5,1024}$/.test(id)) throw new BadRequest(400, 'invalid', 'Invalid resource id value.');
    if (events.has(id)) throw new BadRequest(409, 'duplicate', 'The requested identifier already exists.');
    notify(event, query);
    return stored({ ...event, id, status: 'confirmed' });
  }

  function list(query: URLSearchParams): unknown {
    if (query.get('orderBy') === 'startTime' && query.get('singleEvents') !== 'true')
      throw new BadRequest(400, 'orderByNotSupported', 'The requested ordering is not available for this query.');
    const from = Date.parse(query.get('timeMin') ?? '') || -Infinity;
    const to = Date.parse(query.get('timeMax') ?? '') || Infinity;
    const words = (query.get('q') ?? '').toLowerCase();
    const found = [...events.values()]
      .filter((event) => event.status !== 'cancelled' && instant(event.end) > from && instant(event.start) < to)
      .filter((event) => JSON.stringify(event).toLowerCase().includes(words))
      .toSorted((a, b) => instant(a.start) - instant(b.start));
    const offset = Number(query.get('pageToken') ?? 0);
    const end = offset + Number(query.get('maxResults') ?? 250);
    return {
      kind: 'calendar#events',
      items: found.slice(offset, end),
      ...(end < found.length ? { nextPageToken: String(end) } : {}),
    };
  }

  return {
    events,
    notified,
    add: (event) => stored({ ...Event.parse(event), id: crypto.randomUUID().replaceAll('-', ''), status: 'confirmed' }),
    handle({ method, path, query, body }, ifMatch) {
      if (path['calendarId'] !== 'primary') throw new BadRequest(404, 'notFound', 'Not Found');
      const id = path['eventId'] ?? '';
      switch (method) {
        case 'calendar.events.list':
          return list(query);
        case 'calendar.events.get':
          return find(id);
        case 'calendar.events.insert':
          return insert(body, query);
        case 'calendar.events.patch': {
          const event = matching(find(id), ifMatch);
          const patched = { ...parse({ ...event, ...(body as object) }), id, status: event.status };
          notify(patched, query);
          return stored(patched);
        }
        case 'calendar.events.delete': {
          const event = find(id);
          if (event.status === 'cancelled') throw new BadRequest(410, 'deleted', 'Resource has been deleted');
          notify(matching(event, ifMatch), query);
          stored({ ...event, status: 'cancelled' });
          return undefined;
        }
        default:
          throw new Error(`unknown method ${method}`);
      }
    },
  };
}
