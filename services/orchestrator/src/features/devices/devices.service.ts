import type { Clock, Device, Logger } from '@uswarm/service-kit';
import { isDescribed } from '@uswarm/service-kit';
import type { DeviceStore } from './devices.store.js';

export interface DeviceServiceDeps {
  store: Pick<DeviceStore, 'record' | 'setPushToken'>;
  clock: Clock;
  logger: Pick<Logger, 'debug'>;
}

export interface DeviceService {
  /** Records the device, in its own time: no request waits for it, or fails because of it. */
  seen(userId: string, device: Device): void;
  setPushToken(userId: string, device: Device, pushToken: string): Promise<void>;
}

/** An unchanged device is stored again only after this time. */
const REFRESH_MS = 5 * 60_000;
/** Devices that this process remembers to have written down. */
const REMEMBERED = 10_000;
/** Devices per user; invented ids cannot fill the table. */
const DEVICES_PER_USER = 20;

export function createDeviceService({ store, clock, logger }: DeviceServiceDeps): DeviceService {
  const recorded = new Map<string, { said: string; at: number }>();

  function isNews(key: string, said: string, at: number): boolean {
    const last = recorded.get(key);
    if (last !== undefined && last.said === said && at - last.at < REFRESH_MS) return false;
    // Deleted first: the order of a map is that of insertion, and its first is the next to be forgotten.
    recorded.delete(key);
    recorded.set(key, { said, at });
    if (recorded.size > REMEMBERED) recorded.delete(recorded.keys().next().value ?? '');
    return true;
  }

  return {
    seen(userId, device) {
      if (!isDescribed(device)) return;
      const key = `${userId} ${device.id}`;
      const said = JSON.stringify([device.info, device.version, device.timezone]);
      if (!isNews(key, said, clock.now().getTime())) return;
      store.record(userId, device, DEVICES_PER_USER).catch((error: unknown) => {
        recorded.delete(key);
        logger.debug({ err: error }, 'a device was not recorded');
      });
    },
    setPushToken: (userId, device, pushToken) => store.setPushToken(userId, device.id, pushToken),
  };
}
