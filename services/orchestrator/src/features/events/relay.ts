import type { BusEnvelope } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { WithTransaction } from '../../database/database.js';
import { createWakeableLoop, type WakeableLoop } from '../../work/wakeable-loop.js';
import type { RenderEvents } from './event-payloads.js';
import type { EventStore, StoredEvent, UnpublishedEvent } from './events.store.js';
import type { RelayMetrics } from './relay-metrics.js';

export interface RelayDeps {
  withTransaction: WithTransaction;
  store: Pick<EventStore, 'takeUnpublished' | 'markPublished'>;
  render: RenderEvents;
  /** @returns false where the bus is away; what was not published stays to be. */
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

/** Publishes what transactions wrote, in seq order a workspace, at least once. Any replica may run one. */
export function createRelay({
  withTransaction,
  store,
  render,
  publish,
  metrics,
  logger,
  pollMs = POLL_MS,
}: RelayDeps): WakeableLoop {
  /** @returns the first envelope that the bus did not take. */
  async function publishAll(envelopes: readonly BusEnvelope[]): Promise<BusEnvelope | undefined> {
    for (const envelope of envelopes) if (!(await publish(envelope))) return envelope;
    return undefined;
  }

  /** @returns whether anything was there: more may have come meanwhile. @throws Error where the bus is away */
  async function publishBatch(): Promise<boolean> {
    const { taken, published } = await withTransaction(async (tx) => {
      const events: UnpublishedEvent[] = await store.takeUnpublished(WORKSPACES, EVENTS, tx);
      const refused = await publishAll(await render(events, tx));
      const end = refused === undefined ? events.length : events.findIndex((event) => isEvent(event, refused));
      await store.markPublished(events.slice(0, end), tx);
      return { taken: events.length, published: events.slice(0, end) };
    });
    for (const { ageS } of published) metrics?.published(ageS);
    // Only now: what went out is marked.
    if (published.length < taken) throw new Error('the event bus is away');
    return taken > 0;
  }

  return createWakeableLoop({
    round: publishBatch,
    pollMs,
    onError(error) {
      metrics?.failed();
      logger.warn({ err: error }, 'events could not be published; they are tried again');
    },
  });
}
