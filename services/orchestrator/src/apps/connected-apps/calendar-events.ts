import { z } from 'zod';
import { oddAsAbsent, readableOf } from '../../platform/http/foreign-answer.js';

/** Limits a listed event's fields in characters, and its attendees. Others write them: anyone can invite the user. */
const MAX_FIELD = 500;
const MAX_ATTENDEES = 20;

const Text = oddAsAbsent(z.string());
export const EventTime = z.object({ date: Text, dateTime: Text });
export type EventTime = z.output<typeof EventTime>;
const NO_TIME: EventTime = { date: undefined, dateTime: undefined };

/** Rooms and contacts without a mail address have only a name. */
const Attendee = z.object({ email: Text, displayName: Text, responseStatus: Text });
type Attendee = z.output<typeof Attendee>;

/** As the API returns it. Agents could not name an event without an id. */
export const Event = z.object({
  id: z.string().min(1),
  etag: Text,
  status: Text,
  summary: z.string().catch('(no title)'),
  description: Text,
  location: Text,
  start: EventTime.catch(NO_TIME),
  end: EventTime.catch(NO_TIME),
  attendees: readableOf(Attendee),
});
export type Event = z.output<typeof Event>;

export const momentOf = ({ date, dateTime }: EventTime): string => dateTime ?? date ?? '';

export const nameOf = ({ email, displayName }: Attendee): string => email ?? displayName ?? '(no name)';

const cut = (text: string): string => text.slice(0, MAX_FIELD).toWellFormed();

/** Renders an event for a list that agents read. */
export const listedEvent = ({ id, summary, description, location, start, end, attendees }: Event): string =>
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
            .map((attendee) => `${cut(nameOf(attendee))} (${cut(attendee.responseStatus ?? 'unknown')})`),
        }),
    ...(attendees.length > MAX_ATTENDEES ? { other_attendees: attendees.length - MAX_ATTENDEES } : {}),
    ...(description === undefined ? {} : { description: cut(description) }),
  });
