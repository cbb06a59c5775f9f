import type { BusEnvelope } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../database/database.js';
import type { RenderEvents } from './event-payloads.js';
import type { EventStore } from './events.store.js';

export interface RelayDeps {
  transaction: <T>(run: (tx: Database) => Promise<T>) => Promise<T>;
  store: Pick<EventStore, 'takeUnpublished' | 'markPublished'>;
  render: RenderEvents;
  publish: (envelope: BusEnvelope) => Promise<void>;
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

/** Publishes what transactions wrote, in seq order a workspace, at least once. Any replica may run one. */
export function createRelay({ transaction, store, render, publish, logger, pollMs = POLL_MS }: RelayDeps): Relay {
  let stopped = false;
  let woken = false;
  let wakeUp = (): void => undefined;

  async function publishBatch(): Promise<boolean> {
    return transaction(async (tx) => {
      const events = await store.takeUnpublished(WORKSPACES, EVENTS, tx);
      for (const envelope of await render(events, tx)) await publish(envelope);
      await store.markPublished(events, tx);
      return events.length > 0;
    });
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      woken = false;
      try {
        while (!stopped && (await publishBatch())) woken = true;
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
