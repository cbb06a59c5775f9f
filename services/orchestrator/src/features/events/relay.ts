import type { BusEnvelope } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../database/database.js';
import type { RenderEvents } from './event-payloads.js';
import type { EventStore, StoredEvent } from './events.store.js';

export interface RelayDeps {
  transaction: <T>(run: (tx: Database) => Promise<T>) => Promise<T>;
  store: Pick<EventStore, 'takeUnpublished' | 'markPublished'>;
  render: RenderEvents;
  /** @returns false where the bus is away; what was not published stays to be. */
  publish: (envelope: BusEnvelope) => Promise<boolean>;
  logger: Logger;
  pollMs?: number;
}

export interface Relay {
  /** Looks for unpublished events now instead of at the next poll. */
  wake(): void;
  close(): Promise<void>;
}

const WORKSPACES = 50;
const EVENTS = 500;
const POLL_MS = 250;
const RETRY_MS = 1_000;

const isEvent = ({ workspaceId, seq }: StoredEvent, envelope: BusEnvelope): boolean =>
  envelope.kind === 'durable' && envelope.workspace_id === workspaceId && envelope.seq === seq;

/** Publishes what transactions wrote, in seq order a workspace, at least once. Any replica may run one. */
export function createRelay({ transaction, store, render, publish, logger, pollMs = POLL_MS }: RelayDeps): Relay {
  let stopped = false;
  let woken = false;
  let wakeUp = (): void => undefined;

  /** @returns the first envelope that the bus did not take. */
  async function publishAll(envelopes: readonly BusEnvelope[]): Promise<BusEnvelope | undefined> {
    for (const envelope of envelopes) if (!(await publish(envelope))) return envelope;
    return undefined;
  }

  async function publishBatch(): Promise<{ more: boolean; away: boolean }> {
    return transaction(async (tx) => {
      const events = await store.takeUnpublished(WORKSPACES, EVENTS, tx);
      const refused = await publishAll(await render(events, tx));
      const done =
        refused === undefined
          ? events
          : events.slice(
              0,
              events.findIndex((event) => isEvent(event, refused)),
            );
      await store.markPublished(done, tx);
      if (refused !== undefined) logger.warn({ waiting: events.length - done.length }, 'the event bus is away');
      return { more: events.length > 0, away: refused !== undefined };
    });
  }

  /** @returns whether anything was there: more may have come meanwhile. */
  async function publishWaiting(): Promise<boolean> {
    for (let found = false; ; found = true) {
      const { more, away } = await publishBatch();
      if (away) await sleep(RETRY_MS);
      if (stopped || !more) return found;
    }
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      woken = false;
      try {
        if (await publishWaiting()) woken = true;
      } catch (error) {
        logger.warn({ err: error }, 'events could not be published; they are tried again');
        await sleep(RETRY_MS);
      }
      if (woken || stopped) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  const looping = loop();
  return {
    wake() {
      woken = true;
      wakeUp();
    },
    async close() {
      stopped = true;
      wakeUp();
      await looping;
    },
  };
}
