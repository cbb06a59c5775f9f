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
}

const WORKSPACES = 50;
const EVENTS = 500;
const POLL_MS = 250;

const isEvent = ({ workspaceId, seq }: StoredEvent, envelope: BusEnvelope): boolean =>
  envelope.kind === 'durable' && envelope.workspace_id === workspaceId && envelope.seq === seq;

/** Publishes the events of the outbox at least once, in seq order per workspace. Each replica may run one. */
export function createRelay({
  withTransaction,
  store,
  render,
  publish,
  metrics,
  logger,
  pollMs = POLL_MS,
}: RelayDeps): PollLoop {
  /** @returns the first envelope that the bus rejected. */
  async function publishAll(envelopes: readonly BusEnvelope[]): Promise<BusEnvelope | undefined> {
    for (const envelope of envelopes) if (!(await publish(envelope))) return envelope;
    return undefined;
  }

  /** @returns whether there were events: more may exist. @throws Error if the bus is unavailable */
  async function publishBatch(): Promise<boolean> {
    const { taken, published } = await withTransaction(async (tx) => {
      const events: UnpublishedEvent[] = await store.takeUnpublished(WORKSPACES, EVENTS, tx);
      const refused = await publishAll(await render(events, tx));
      const end = refused === undefined ? events.length : events.findIndex((event) => isEvent(event, refused));
      await store.markPublished(events.slice(0, end), tx);
      return { taken: events.length, published: events.slice(0, end) };
    });
    for (const { ageS } of published) metrics?.published(ageS);
    // Throw only now: the published events are marked.
    if (published.length < taken) throw new Error('the event bus is unavailable');
    return taken > 0;
  }

  return createPollLoop({
    round: publishBatch,
    pollMs,
    onError(error) {
      metrics?.failed();
      logger.warn({ err: error }, 'publishing events failed; will retry');
    },
  });
}
