import { drainFlagExpiry } from '@uswarm/contract/userswarm';
import { isNotFound, type KubeClient, type ObjectName, type Resource } from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import { PlatformUnreachable } from '../driver.js';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' };

/** Milliseconds for which a raised flag is taken to stand without another look. A lowered one is never remembered. */
const STANDS_MS = 3_000;

/** Says that the release is being removed: what goes now must not be made again. */
export interface DrainFlag {
  /** @throws PlatformUnreachable where that cannot be found out */
  raised(): Promise<boolean>;
}

export interface DrainFlagDeps {
  client: Pick<KubeClient, 'get'>;
  /** The ConfigMap that is the flag. It counts until the expiry that it names. */
  place: ObjectName;
  clock: Clock;
  /** Milliseconds that pass, whatever is done to the clock. */
  elapsed?: () => number;
}

/**
 * The flag is asked for right before each write and not watched: a watch may be behind, and what it has not
 * told yet would bring back what the drain has just deleted. Writes are rare, so the question is.
 */
export function createDrainFlag({ client, place, clock, elapsed = () => performance.now() }: DrainFlagDeps): DrainFlag {
  let standsUntil = -Infinity;
  return {
    async raised() {
      if (elapsed() < standsUntil) return true;
      let validMs: number;
      try {
        validMs = drainFlagExpiry(await client.get(CONFIG_MAPS, place)) - clock.now().getTime();
      } catch (error) {
        if (isNotFound(error)) return false;
        throw new PlatformUnreachable('it cannot be found out whether uswarm is being removed', { cause: error });
      }
      // Left by a removal that failed or was killed: the platform stays in use.
      if (validMs <= 0) return false;
      standsUntil = elapsed() + Math.min(STANDS_MS, validMs);
      return true;
    },
  };
}
