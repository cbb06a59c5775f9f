import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { LeaseKeeper } from '../../platform/jobs/lease-keeper.js';
import { createPollLoop, type PollLoop } from '../../platform/jobs/poll-loop.js';
import type { CommittedEvent } from '../../records/event-log.js';
import type { CommittedEvents } from './committed-events.js';
import { type OutboxLimits, type PublishedRange, SHARDS, type WaitingEvents } from './outbox.store.js';
import type { PublishEvents } from './publish-events.js';
import { createPublishedRanges } from './published-ranges.js';
import type { RelayMetrics } from './relay-metrics.js';
import type * as outboxRecords from './outbox.store.js';
import type { Database } from '../../platform/database/database.js';

export interface RelayDeps {
  database: Database;
  store: Pick<typeof outboxRecords, 'findDueEvents' | 'advanceOutbox' | 'announceRelay' | 'removeRelay'>;
  publish: PublishEvents;
  committed: Pick<CommittedEvents, 'take' | 'clear' | 'onPush'>;
  leases: Pick<LeaseKeeper, 'all' | 'extended'>;
  metrics?: RelayMetrics | undefined;
  logger: Pick<Logger, 'info' | 'warn'>;
  pollMs?: number;
  /** Milliseconds after a round with this process's events. */
  pauseMs?: number;
  /** This process's published events leave the outbox after this many ms. */
  advanceMs?: number;
  limits?: OutboxLimits;
}

export interface Relay {
  /** Starts no further round; resolves when the running ones have ended. */
  close(): Promise<void>;
}

const POLL_MS = 1_000;
/**
 * Under load, events within this time are published together: a round has the same statements for one event as for
 * many.
 */
const PAUSE_MS = 10;
/**
 * Events within this time leave the outbox in one statement, such as for a short answer. Well before they are due, when
 * their shard's relay publishes them again.
 */
const ADVANCE_MS = 700;
const RETRY_MS = 1_000;
/** Few events per workspace, so that a long backlog in one does not delay the others. */
const LIMITS: OutboxLimits = { workspaces: 20, events: 50 };
/**
 * This relay announces itself at this interval, which extends its process's leases. Shorter than the time after which
 * events are due.
 */
const ANNOUNCE_MS = 3_000;
/** Without an announcement for this long, the other relays take over its shards. */
const EXPIRY_MS = 10_000;

/** Returns the relay's shards: each shard belongs to one running relay. Pure. */
export function shardsOf(relayId: string, running: readonly string[]): number[] {
  const place = running.indexOf(relayId);
  return Array.from({ length: SHARDS }, (_, shard) => shard).filter((shard) => shard % running.length === place);
}

/**
 * Publishes the log's events at least once. This process publishes its own events after their commit. If events wait
 * longer, because their process crashed or the bus was unavailable, their shard's relay publishes them. Gateways order
 * events by seq and ignore duplicates.
 */
export function startRelay(deps: RelayDeps): Relay {
  const { database, store, publish, committed, leases, metrics, logger } = deps;
  const { limits = LIMITS, pollMs = POLL_MS, pauseMs = PAUSE_MS, advanceMs = ADVANCE_MS } = deps;
  const id = randomUUID();
  logger.info({ relayId: id }, 'relay started');
  const published = createPublishedRanges();
  let shards: number[] = [];
  let announcedAt = -Infinity;
  let advanceTimer: NodeJS.Timeout | undefined;

  async function announce(): Promise<void> {
    if (performance.now() - announcedAt < ANNOUNCE_MS) return;
    const askedAt = performance.now();
    const { running, held } = await store.announceRelay(database, id, EXPIRY_MS, leases.all());
    leases.extended(held, askedAt);
    shards = shardsOf(id, running);
    announcedAt = askedAt;
  }

  /** Removes the published events from the outbox, except events whose row is locked. */
  async function advance(): Promise<void> {
    clearTimeout(advanceTimer);
    advanceTimer = undefined;
    const ranges = published.all();
    const staying = await store.advanceOutbox(database, ranges);
    published.remove(ranges.filter(({ workspaceId }) => !staying.has(workspaceId)));
  }

  function failed(error: unknown): void {
    metrics?.failed();
    logger.warn({ err: error }, 'publishing events failed; will retry');
  }

  function advanceLater(afterMs = advanceMs): void {
    advanceTimer ??= setTimeout(() => {
      advance().catch((error: unknown) => {
        failed(error);
        advanceLater(RETRY_MS);
      });
    }, afterMs);
  }

  /** Publishes, and then removes from the outbox. @throws Error if the bus is unavailable */
  async function publishAll(events: readonly CommittedEvent[][], remove: () => void | Promise<void>): Promise<void> {
    const some = events.filter(({ length }) => length > 0);
    const { ranges, complete } = some.length > 0 ? await publish(some) : { ranges: [], complete: true };
    published.add(ranges);
    await remove();
    // Throw only now: the published events are removed from the outbox.
    if (!complete) throw new Error('the event bus is unavailable');
  }

  async function publishOwn(): Promise<boolean> {
    const events = committed.take(limits);
    if (events.length === 0) return false;
    await publishAll(events, () => advanceLater());
    return true;
  }

  async function publishShards(): Promise<boolean> {
    await announce();
    const waiting = await store.findDueEvents(database, shards, limits);
    if (waiting.length === 0) return false;
    const isPublished = ({ workspaceId, seq }: CommittedEvent): boolean => published.has(workspaceId, seq);
    const events = waiting.map((one) => one.events.filter((event) => !isPublished(event)));
    await publishAll(events, () => {
      published.add(waiting.flatMap((one) => finishedRange(one, isPublished)));
      return advance();
    });
    return events.some(({ length }) => length > 0);
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
      // Their shard's relay would publish them again.
      if (advanceTimer !== undefined) await advance().catch(failed);
      await store
        .removeRelay(database, id)
        .catch((error: unknown) => logger.warn({ err: error }, 'the relay could not leave'));
    },
  };
}

/** Ends at the last published event before which all events are published. The log can have gaps. Pure. */
function finishedRange(
  { workspaceId, events, uptoSeq }: WaitingEvents,
  isPublished: (event: CommittedEvent) => boolean,
): PublishedRange[] {
  if (events.length === 0) return [{ workspaceId, fromSeq: 0, uptoSeq, at: new Date(0) }];
  const open = events.findIndex((event) => !isPublished(event));
  const last = open === -1 ? events.at(-1) : events[open - 1];
  return last === undefined ? [] : [{ workspaceId, fromSeq: 0, uptoSeq: last.seq, at: last.createdAt }];
}
