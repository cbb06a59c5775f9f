import type { BusEnvelope } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { WithTransaction } from '../database/database.js';
import { createPollLoop, type PollLoop } from '../jobs/poll-loop.js';
import type { RenderEvents } from '../features/events/event-payloads.js';
import type { EventStore, StoredEvent, UnpublishedEvent } from '../features/events/events.store.js';
import type { RelayMetrics } from './relay-metrics.js';

export interface RelayDeps {
  withTransaction: WithTransaction;
  store: Pick<EventStore, 'takeUnpublished' | 'markPublished'>;
  render: RenderEvents;
  /** @returns false if the bus is unavailable; the event then stays unpublished. */
  publish: (envelope: BusEnvelope) => Promise<boolean>;
  metrics?: RelayMetrics;
  logger: Logger;
  pollMs?: number;
  /** Milliseconds after a round with events. */
  pauseMs?: number;
}

const WORKSPACES = 50;
const EVENTS = 500;
const POLL_MS = 250;
/** Under load, events of this time are published together: a round has the same statements for one event as for many. */
const PAUSE_MS = 15;

const seqOf = (envelope: BusEnvelope | undefined): number => (envelope?.kind === 'durable' ? envelope.seq : Infinity);

/** Publishes the events of the outbox at least once, in seq order per workspace. Each replica may run one. */
export function createRelay({
  withTransaction,
  store,
  render,
  publish,
  metrics,
  logger,
  pollMs = POLL_MS,
  pauseMs = PAUSE_MS,
}: RelayDeps): PollLoop {
  /** @returns the first envelope that the bus rejected; later ones are not published. */
  async function publishInOrder(envelopes: readonly BusEnvelope[]): Promise<BusEnvelope | undefined> {
    for (const envelope of envelopes) if (!(await publish(envelope))) return envelope;
    return undefined;
  }

  /** Publishes the workspaces concurrently. @returns a predicate for published events */
  async function publishAll(envelopes: readonly BusEnvelope[]): Promise<(event: StoredEvent) => boolean> {
    const ofWorkspaces = Map.groupBy(envelopes, ({ workspace_id }) => workspace_id);
    const rejected = await Promise.all(Array.from(ofWorkspaces.values(), publishInOrder));
    const ends = new Map(rejected.map((envelope) => [envelope?.workspace_id, seqOf(envelope)]));
    return ({ workspaceId, seq }) => seq < (ends.get(workspaceId) ?? Infinity);
  }

  /** @returns whether there were events: more may exist. @throws Error if the bus is unavailable */
  async function publishBatch(): Promise<boolean> {
    const { taken, published } = await withTransaction(async (tx) => {
      const events: UnpublishedEvent[] = await store.takeUnpublished(WORKSPACES, EVENTS, tx);
      const isPublished = await publishAll(await render(events, tx));
      const done = events.filter(isPublished);
      await store.markPublished(done, tx);
      return { taken: events.length, published: done };
    });
    for (const { ageS } of published) metrics?.published(ageS);
    // Throw only now: the published events are marked.
    if (published.length < taken) throw new Error('the event bus is unavailable');
    return taken > 0;
  }

  return createPollLoop({
    round: publishBatch,
    pollMs,
    pauseMs,
    onError(error) {
      metrics?.failed();
      logger.warn({ err: error }, 'publishing events failed; will retry');
    },
  });
}
