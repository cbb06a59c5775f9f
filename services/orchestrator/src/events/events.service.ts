import { ApiError, type ReplayedEvent } from '@uswarm/contract';
import { fitting, jsonBytes } from '../platform/http/bounded-list.js';
import { FIELD_BYTES } from '../records/stored-bytes.js';
import type { WithTransaction, Database } from '../platform/database/database.js';
import type { RenderEvents } from './event-payloads.js';
import type { EventLog, StoredEvent } from '../records/event-log.js';
import type { Epochs } from './epoch.js';
import { readHeads } from './positions.store.js';

export interface EventServiceDeps {
  withTransaction: WithTransaction;
  store: Pick<EventLog, 'after'>;
  database: Database;
  epochs: Epochs;
  render: RenderEvents;
}

export interface ReplayedEvents {
  events: ReplayedEvent[];
  hasNext: boolean;
}

export interface EventService {
  /**
   * Returns the events after a position, `seq` or `epoch:seq`, without a gap, with current payloads. Limited to
   * `REPLAY_PAGE_SIZE` events and to one response's size.
   *
   * @throws ApiError `workspace_not_found`; `resync_required` if events after the position have been pruned, or the
   * position
   *   belongs to another epoch
   */
  after(userId: string, workspaceId: string, position: string): Promise<ReplayedEvents>;
}

export const REPLAY_PAGE_SIZE = 500;

export function createEventService(deps: EventServiceDeps): EventService {
  const { withTransaction, store, database, epochs, render } = deps;
  return {
    async after(userId, workspaceId, position) {
      const { epoch, heads } = await readHeads(database, epochs, [workspaceId]);
      const [head] = heads;
      if (head?.ownerId !== userId) throw new ApiError('workspace_not_found');
      const lastSeq = head.lastSeq;
      const resync = () => new ApiError('resync_required', { extra: { last_seq: lastSeq, epoch } });
      const [seqText = '', epochOfClient = epoch] = position.split(':').toReversed();
      if (epochOfClient !== epoch) throw resync();
      const since = Number(seqText);
      const { events, envelopes } = await withTransaction(async (tx) => {
        const found = await store.after(workspaceId, since, REPLAY_PAGE_SIZE, tx);
        const stored = fitting(found, ({ bytes }) => bytes + FIELD_BYTES);
        return { events: stored, envelopes: await render(stored, tx) };
      });
      const first = events[0]?.seq;
      const missing = first === undefined ? since !== lastSeq : first !== since + 1;
      if (missing) throw resync();
      const bodies = new Map(
        envelopes.flatMap((rendered) =>
          rendered.kind === 'durable' ? [[rendered.seq, rendered.payload] as const] : [],
        ),
      );
      const replayed = events.map((event) => ({
        seq: event.seq,
        event: event.type,
        payload: { ...(bodies.get(event.seq) ?? tombstone(event)) },
      }));
      const answered = fitting(replayed, jsonBytes);
      return { events: answered, hasNext: (answered.at(-1)?.seq ?? since) < lastSeq };
    },
  };
}

/** The subject is deleted. */
const tombstone = ({ workspaceId, seq, subjectId }: StoredEvent) => ({
  workspace_id: workspaceId,
  seq,
  deleted: true,
  id: subjectId,
});
