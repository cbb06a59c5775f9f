import { BUS_VERSIONS, type BusVersion } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { createPollLoop, type PollLoop } from '../platform/jobs/poll-loop.js';
import type * as gatewayRecords from './gateways.store.js';
import type { Database } from '../platform/database/database.js';

/** Sent by a gateway on each call. */
export interface Announcement {
  id: string | undefined;
  busVersion: string | undefined;
}

/** Tracks running gateways, and the envelope version that all of them read. */
export interface Gateways {
  /** Does not wait for the database. */
  announced(announcement: Announcement): void;
  version(): BusVersion;
  refresh(): Promise<void>;
  /** Reads the gateways periodically until it is closed. */
  watch(): PollLoop;
}

export interface GatewaysDeps {
  database: Database;
  store: Pick<typeof gatewayRecords, 'recordGateway' | 'findOldestGatewayVersion'>;
  logger: Pick<Logger, 'warn'>;
  /** Milliseconds on a monotonic clock. */
  now?: () => number;
}

/** Each gateway is recorded at most once in this many ms. */
const RECORD_MS = 10_000;
const READ_MS = 10_000;
const NEWEST: BusVersion = 2;
const ID = /^[\w-]{1,64}$/;

function supported(version: number | null): BusVersion {
  return BUS_VERSIONS.findLast((known) => version !== null && known <= version) ?? NEWEST;
}

export function createGateways({ database, store, logger, now = () => performance.now() }: GatewaysDeps): Gateways {
  const recordedAt = new Map<string, number>();
  let current: BusVersion = NEWEST;

  const refresh = async (): Promise<void> => {
    current = supported(await store.findOldestGatewayVersion(database));
  };

  function forgetOld(): void {
    for (const [id, at] of recordedAt) if (now() - at >= RECORD_MS) recordedAt.delete(id);
  }

  return {
    announced({ id, busVersion }) {
      const version = Number(busVersion);
      if (id === undefined || !ID.test(id) || !Number.isInteger(version) || version < 1) return;
      const last = recordedAt.get(id);
      if (last !== undefined && now() - last < RECORD_MS) return;
      forgetOld();
      recordedAt.set(id, now());
      current = supported(Math.min(current, version));
      store.recordGateway(database, id, version).catch((error: unknown) => {
        recordedAt.delete(id);
        logger.warn({ err: error }, 'recording a gateway failed');
      });
    },
    version: () => current,
    refresh,
    watch: () =>
      createPollLoop({
        round: async () => {
          await refresh();
          return false;
        },
        pollMs: READ_MS,
        onError: (error) => logger.warn({ err: error }, 'reading the gateways failed'),
      }),
  };
}
