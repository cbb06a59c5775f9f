import { ApiError, type PushTokenBody } from '@uswarm/contract';
import type { Clock, Device, Logger } from '@uswarm/service-kit';
import { isDescribed } from '@uswarm/service-kit';
import { requirePushEndpoint } from './push-endpoint.js';
import {
  type DevicePosition,
  recordDevice,
  setDevicePositions,
  setPushToken,
  forgetPushToken,
} from './devices.store.js';
import type { Database } from '../../platform/database/database.js';

export interface DeviceServiceDeps {
  database: Database;
  /** Browser push services inside the network. */
  privateHosts: readonly string[];
  clock: Clock;
  logger: Pick<Logger, 'debug'>;
}

export interface DeviceService {
  /** Records the device asynchronously: requests neither wait for it nor fail because of it. */
  seen(userId: string, device: Device): void;
  /** @throws ApiError `validation_failed` if a browser's subscription cannot be used */
  setPushToken(userId: string, device: Device, token: PushTokenBody): Promise<void>;
  dropPushToken(userId: string, device: Device): Promise<void>;
  /** Stores what devices have received, as gateways report it. */
  setPositions(positions: readonly DevicePosition[]): Promise<void>;
}

/** Minimum time between two writes of an unchanged device. */
const REFRESH_MS = 5 * 60_000;
/** Maximum devices in the cache of recent writes. */
const MAX_REMEMBERED = 10_000;
/** Limits devices per user, so that invented ids cannot fill the table. */
const DEVICES_PER_USER = 20;
const KEYS_MISSING = { path: 'keys', message: 'is required for web_push' };

export function createDeviceService({ database, privateHosts, clock, logger }: DeviceServiceDeps): DeviceService {
  const recorded = new Map<string, { value: string; at: number }>();

  function isChanged(key: string, value: string, at: number): boolean {
    const last = recorded.get(key);
    if (last !== undefined && last.value === value && at - last.at < REFRESH_MS) return false;
    // Delete first: a map keeps insertion order, and the first entry is evicted next.
    recorded.delete(key);
    recorded.set(key, { value, at });
    if (recorded.size > MAX_REMEMBERED) recorded.delete(recorded.keys().next().value ?? '');
    return true;
  }

  return {
    seen(userId, device) {
      if (!isDescribed(device)) return;
      const key = `${userId} ${device.id}`;
      const value = JSON.stringify([device.info, device.version, device.timezone]);
      if (!isChanged(key, value, clock.now().getTime())) return;
      recordDevice(database, userId, device, DEVICES_PER_USER).catch((error: unknown) => {
        recorded.delete(key);
        logger.debug({ err: error }, 'a device was not recorded');
      });
    },
    setPositions: (positions) => setDevicePositions(database, positions),
    async setPushToken(userId, device, { push_token: token, service = 'fcm', keys }) {
      if (service === 'web_push') {
        requirePushEndpoint(token, privateHosts);
        if (keys === undefined || keys === null)
          throw new ApiError('validation_failed', { extra: { fields: [KEYS_MISSING] } });
      }
      const kept = service === 'web_push' ? (keys ?? null) : null;
      await setPushToken(database, userId, device.id, { token, service, keys: kept }, DEVICES_PER_USER);
    },
    dropPushToken: (userId, device) => forgetPushToken(database, userId, device.id),
  };
}
