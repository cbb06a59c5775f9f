import { setImmediate as currentTasks } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.js';
import type { EventPublisher, LoggedEvent } from '../event-publisher.js';
import type { RenderEvents } from '../event-payloads.js';
import type { CommittedEvent } from '../../records/event-log.js';
import type { PublishedRange } from './outbox.store.js';
import type { RelayMetrics } from './relay-metrics.js';

export interface PublishEventsDeps {
  database: Database;
  render: RenderEvents;
  /** @returns false if the bus is unavailable */
  publish: EventPublisher['logged'];
  /** The database's current epoch. */
  epoch: () => string;
  metrics?: RelayMetrics | undefined;
}

export interface Publication {
  ranges: PublishedRange[];
  complete: boolean;
}

/** Publishes events, in order within each workspace. No transaction is open meanwhile. */
export type PublishEvents = (workspaces: readonly (readonly CommittedEvent[])[]) => Promise<Publication>;

/** Joins adjacent events. Events from other processes can be between this process's events. */
function rangesOf(events: readonly CommittedEvent[]): PublishedRange[] {
  const ranges: PublishedRange[] = [];
  for (const { workspaceId, seq, createdAt } of events) {
    const last = ranges.at(-1);
    if (last !== undefined && last.uptoSeq + 1 === seq) Object.assign(last, { uptoSeq: seq, at: createdAt });
    else ranges.push({ workspaceId, fromSeq: seq, uptoSeq: seq, at: createdAt });
  }
  return ranges;
}

export function createPublishEvents({ database, render, publish, epoch, metrics }: PublishEventsDeps): PublishEvents {
  /** Sends without waiting for the responses. @returns the number of events before the first rejected one */
  async function publishInOrder(events: readonly LoggedEvent[], epochOfRead: string): Promise<number> {
    const accepted = await Promise.all(events.map((event) => publish(event, epochOfRead)));
    const rejected = accepted.indexOf(false);
    return rejected === -1 ? events.length : rejected;
  }

  return async (workspaces) => {
    // A runtime that waits for the commit is told first, which takes half a millisecond less.
    await currentTasks();
    const epochOfRead = epoch();
    const rendered = await render(workspaces.flat(), database);
    // The events may be from the database before a failover and the bodies from the one after it.
    if (epoch() !== epochOfRead) return { ranges: [], complete: false };
    const ofWorkspaces = Map.groupBy(rendered, ({ workspace_id }) => workspace_id);
    const counts = await Promise.all(
      workspaces.map(([first]) => publishInOrder(ofWorkspaces.get(first?.workspaceId ?? '') ?? [], epochOfRead)),
    );
    const published = workspaces.map((events, index) => events.slice(0, counts[index]));
    for (const { ageS } of published.flat()) metrics?.published(ageS);
    return {
      ranges: published.flatMap(rangesOf),
      complete: published.every((events, index) => events.length === workspaces[index]?.length),
    };
  };
}
