import { z } from 'zod';

/** Characters of a field of a listed event, and its attendees. Others write them: anyone can invite the user. */
const MAX_FIELD = 500;
const MAX_ATTENDEES = 20;

export const EventTime = z.object({ date: z.string().optional(), dateTime: z.string().optional() });
export type EventTime = z.output<typeof EventTime>;

/** An event of a calendar, as the API returns it. */
export const Event = z.object({
  id: z.string(),
  etag: z.string(),
  status: z.string().optional(),
  summary: z.string().default('(no title)'),
  description: z.string().optional(),
  location: z.string().optional(),
  start: EventTime.default({}),
  end: EventTime.default({}),
  attendees: z.array(z.object({ email: z.string(), responseStatus: z.string().optional() })).optional(),
});
export type Event = z.output<typeof Event>;

export const momentOf = ({ date, dateTime }: EventTime): string => dateTime ?? date ?? '';

const cut = (text: string): string => text.slice(0, MAX_FIELD).toWellFormed();

/** An event as agents read it in a list. */
export const listedEvent = ({ id, summary, description, location, start, end, attendees = [] }: Event): string =>
  JSON.stringify({
    event_id: id,
    title: cut(summary),
    start: momentOf(start),
    end: momentOf(end),
    ...(location === undefined ? {} : { location: cut(location) }),
    ...(attendees.length === 0
      ? {}
      : {
          attendees: attendees
            .slice(0, MAX_ATTENDEES)
            .map(({ email, responseStatus }) => `${cut(email)} (${responseStatus ?? 'unknown'})`),
        }),
    ...(attendees.length > MAX_ATTENDEES ? { other_attendees: attendees.length - MAX_ATTENDEES } : {}),
    ...(description === undefined ? {} : { description: cut(description) }),
  });
