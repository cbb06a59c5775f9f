import { ApiError, type EventsAnswer } from '@uswarm/contract';
import { jsonBytes } from '../platform/http/bounded-list.js';
import type { Database, WithTransaction } from '../platform/database/database.js';
import { FIELD_BYTES } from '../records/stored-bytes.js';
import type { RenderEvents } from './event-payloads.js';
import type { LoggedEvent } from './event-publisher.js';
import type { EventLog, SizedEvent, StoredEvent } from '../records/event-log.js';
import type { Epochs } from './epoch.js';
import { readHeads } from './positions.store.js';

export interface EventPagesDeps {
  withTransaction: WithTransaction;
  epochs: Epochs;
  store: Pick<EventLog, 'after'>;
  render: RenderEvents;
}

/**
 * Reads a log page for a gateway: whole, or with `resync`. For each object, only the creation and the last change have
 * bodies, because all bodies would be equal. @throws ApiError `workspace_not_found`
 */
export type ReadEventPage = (workspaceId: string, after: number, maxBytes: number) => Promise<EventsAnswer>;

type PageEvent = EventsAnswer['events'][number];

const PAGE_SIZE = 500;

/**
 * Events with an equal key share one body. Undefined if an event has its own body. A creation has another key than the
 * changes: otherwise clients that add an object only when it is created would never show it. The last change follows
 * anyway, because it has the highest `rev` for whatever contains the object. Pure.
 */
function sharedBody({ type, subjectId }: Pick<StoredEvent, 'type' | 'subjectId'>): string | undefined {
  return type.endsWith('.new') || type.endsWith('.updated') ? `${type} ${subjectId}` : undefined;
}

/**
 * Returns the first events whose bodies, as `withBodies` selects them, have at most `maxBytes` together, and at least
 * one event. Pure.
 */
export function fittingPrefix<Event extends Pick<SizedEvent, 'type' | 'subjectId' | 'bytes'>>(
  events: readonly Event[],
  maxBytes: number,
): Event[] {
  const counted = new Set<string>();
  let total = 0;
  const end = events.findIndex((event, index) => {
    const body = sharedBody(event);
    if (body === undefined || !counted.has(body)) total += event.bytes + FIELD_BYTES;
    if (body !== undefined) counted.add(body);
    return index > 0 && total > maxBytes;
  });
  return end === -1 ? [...events] : events.slice(0, end);
}

/** Selects events that are not followed by another event with the same body. Pure. */
export function withBodies<Event extends Pick<StoredEvent, 'type' | 'subjectId'>>(events: readonly Event[]): Event[] {
  const last = new Map(events.map((event) => [sharedBody(event), event]));
  return events.filter((event) => sharedBody(event) === undefined || last.get(sharedBody(event)) === event);
}

function pageEvent(event: StoredEvent, rendered: LoggedEvent | undefined): PageEvent {
  if (rendered?.kind !== 'durable') return { seq: event.seq, skip: true };
  const { seq, subject_id, rev, payload } = rendered;
  return { seq, event: rendered.event, subject_id, ...(rev === undefined ? {} : { rev }), payload };
}

export function createEventPages({ withTransaction, store, epochs, render }: EventPagesDeps): ReadEventPage {
  async function rendered(events: readonly SizedEvent[], maxBytes: number, db: Database): Promise<PageEvent[]> {
    const bodies = new Map((await render(withBodies(events), db)).map((event) => [event.seq, event]));
    const page = events.map((event) => pageEvent(event, bodies.get(event.seq)));
    // JSON can be longer than the stored text. Without its last events, the page needs other bodies.
    return events.length > 1 && jsonBytes(page) > maxBytes
      ? rendered(events.slice(0, Math.ceil(events.length / 2)), maxBytes, db)
      : page;
  }

  return (workspaceId, after, maxBytes) =>
    withTransaction(async (tx) => {
      const { epoch, heads } = await readHeads(tx, epochs, [workspaceId]);
      const [head] = heads;
      if (head === undefined) throw new ApiError('workspace_not_found');
      const found = await store.after(workspaceId, after, PAGE_SIZE, tx);
      const last_seq = Math.max(head.lastSeq, found.at(-1)?.seq ?? 0);
      const isWhole =
        found.every(({ seq }, index) => seq === after + 1 + index) && (found.length > 0 || after >= last_seq);
      if (!isWhole) return { epoch, last_seq, events: [], resync: 'too_old' };
      return { epoch, last_seq, events: await rendered(fittingPrefix(found, maxBytes), maxBytes, tx) };
    });
}
