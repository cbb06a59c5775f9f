import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { LeaseKeeper } from '../jobs/lease-keeper.js';
import { createPollLoop, type PollLoop } from '../jobs/poll-loop.js';
import type { CommittedEvent } from '../features/events/events.store.js';
import type { CommittedEvents } from './committed-events.js';
import {
  type OutboxLimits,
  type OutboxStore,
  type PublishedRange,
  SHARDS,
  type WaitingEvents,
} from './outbox.store.js';
import type { PublishEvents } from './publish-events.js';
import { createPublishedRanges } from './published-ranges.js';
import type { RelayMetrics } from './relay-metrics.js';

export interface RelayDeps {
  store: OutboxStore;
  publish: PublishEvents;
  /** The events of this process. */
  committed: Pick<CommittedEvents, 'take' | 'clear' | 'onPush'>;
  /** The leases of this process. */
  leases: Pick<LeaseKeeper, 'all' | 'extended'>;
  metrics?: RelayMetrics | undefined;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds between two reads of the outbox. */
  pollMs?: number;
  /** Milliseconds after a round with events of this process. */
  pauseMs?: number;
  limits?: OutboxLimits;
}

export interface Relay {
  /** Starts no further round; resolves when the running ones have ended. */
  close(): Promise<void>;
}

/** Half of the time after which events are due, when the relay of their shard publishes them again. */
const POLL_MS = 1_000;
/** Under load, events of this time are published together: a round has the same statements for one event as for many. */
const PAUSE_MS = 10;
/** Few events per workspace, so that a long backlog of one does not delay the others. */
const LIMITS: OutboxLimits = { workspaces: 20, events: 50 };
/** Time between two announcements of this relay, which extend the leases of its process. Shorter than the time after which they are due. */
const ANNOUNCE_MS = 3_000;
/** Without an announcement for this long, the other relays take over its shards. */
const EXPIRY_MS = 10_000;

/** The shards of a relay: each one belongs to one of the running relays. Pure. */
export function shardsOf(relayId: string, running: readonly string[]): number[] {
  const place = running.indexOf(relayId);
  return Array.from({ length: SHARDS }, (_, shard) => shard).filter((shard) => shard % running.length === place);
}

/**
 * Publishes the events of the log at least once. This process publishes its own events after their commit. The events that
 * wait for longer, because their process crashed or the bus was unavailable, are published by the relay of their shard. Each round
 * of the relay removes from the outbox what was published before.
 * Gateways order events by seq and ignore duplicates.
 */
export function startRelay(deps: RelayDeps): Relay {
  const { store, publish, committed, metrics, logger } = deps;
  const { limits = LIMITS, pollMs = POLL_MS, pauseMs = PAUSE_MS, leases } = deps;
  const id = randomUUID();
  logger.info({ relayId: id }, 'relay started');
  const published = createPublishedRanges();
  let shards: number[] = [];
  let announcedAt = -Infinity;

  async function announce(): Promise<void> {
    if (performance.now() - announcedAt < ANNOUNCE_MS) return;
    const askedAt = performance.now();
    const { running, held } = await store.announce(id, EXPIRY_MS, leases.all());
    leases.extended(held, askedAt);
    shards = shardsOf(id, running);
    announcedAt = askedAt;
  }

  /** Removes the published events from the outbox, except those whose row is locked. @returns events of these shards that are due */
  async function advance(of: readonly number[]): Promise<WaitingEvents[]> {
    const ranges = published.all();
    const { staying, due } = await store.advance(ranges, of, limits);
    published.remove(ranges.filter(({ workspaceId }) => !staying.has(workspaceId)));
    return due;
  }

  function failed(error: unknown): void {
    metrics?.failed();
    logger.warn({ err: error }, 'publishing events failed; will retry');
  }

  /** @throws Error if the bus is unavailable */
  async function publishAll(events: readonly CommittedEvent[][]): Promise<void> {
    const { ranges, complete } = await publish(events);
    published.add(ranges);
    if (!complete) throw new Error('the event bus is unavailable');
  }

  async function publishOwn(): Promise<boolean> {
    const events = committed.take(limits);
    if (events.length === 0) return false;
    await publishAll(events);
    return true;
  }

  async function publishShards(): Promise<boolean> {
    await announce();
    const waiting = await advance(shards);
    const isPublished = ({ workspaceId, seq }: CommittedEvent): boolean => published.has(workspaceId, seq);
    const events = waiting
      .map((one) => one.events.filter((event) => !isPublished(event)))
      .filter(({ length }) => length > 0);
    try {
      if (events.length > 0) await publishAll(events);
    } finally {
      // The next round removes them.
      published.add(waiting.flatMap((one) => finishedRange(one, isPublished)));
    }
    return events.length > 0;
  }

  const loop = (round: () => Promise<boolean>, pause: number, giveUp: () => void = () => undefined): PollLoop =>
    createPollLoop({
      round,
      pollMs,
      pauseMs: pause,
      onError(error) {
        giveUp();
        failed(error);
      },
    });
  const own = loop(publishOwn, pauseMs, committed.clear);
  const sharded = loop(publishShards, 0);
  committed.onPush(own.runNow);

  return {
    async close() {
      await Promise.all([own.close(), sharded.close()]);
      // The relay of their shard would publish them again.
      await advance([]).catch(failed);
      await store.leave(id).catch((error: unknown) => logger.warn({ err: error }, 'the relay could not leave'));
    },
  };
}

/** All waiting events up to the last published one before which all are published. The log can have gaps. Pure. */
function finishedRange(
  { workspaceId, events, uptoSeq }: WaitingEvents,
  isPublished: (event: CommittedEvent) => boolean,
): PublishedRange[] {
  if (events.length === 0) return [{ workspaceId, fromSeq: 0, uptoSeq, at: new Date(0) }];
  const open = events.findIndex((event) => !isPublished(event));
  const last = open === -1 ? events.at(-1) : events[open - 1];
  return last === undefined ? [] : [{ workspaceId, fromSeq: 0, uptoSeq: last.seq, at: last.createdAt }];
}
