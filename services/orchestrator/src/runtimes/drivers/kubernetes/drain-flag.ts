import { drainFlagExpiry } from '@uswarm/contract/userswarm';
import { isNotFound, type KubeClient, type ObjectName, type Resource } from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import { PlatformUnreachable } from '../driver.js';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' };

/** Caches a raised flag for this many ms. A lowered flag is never cached. */
const CACHE_MS = 3_000;

/** Marks that the release is being removed: deleted UserSwarms must not be created again. */
export interface DrainFlag {
  /** @throws PlatformUnreachable if the flag cannot be read */
  raised(): Promise<boolean>;
}

export interface DrainFlagDeps {
  client: Pick<KubeClient, 'get'>;
  /** Stores the flag and the time at which it expires. */
  configMap: ObjectName;
  clock: Clock;
  /** Monotonic time in milliseconds. */
  elapsed?: () => number;
}

/**
 * Reads the flag before each write instead of watching it: with a delayed watch, the orchestrator would create
 * UserSwarms that the drain has just deleted. Writes are rare, so the additional request is cheap.
 */
export function createDrainFlag({
  client,
  configMap,
  clock,
  elapsed = () => performance.now(),
}: DrainFlagDeps): DrainFlag {
  let cachedUntil = -Infinity;
  return {
    async raised() {
      if (elapsed() < cachedUntil) return true;
      let validMs: number;
      try {
        validMs = drainFlagExpiry(await client.get(CONFIG_MAPS, configMap)) - clock.now().getTime();
      } catch (error) {
        if (isNotFound(error)) return false;
        throw new PlatformUnreachable('the drain flag cannot be read', { cause: error });
      }
      // An expired flag comes from a removal that failed or was killed: the release stays in use.
      if (validMs <= 0) return false;
      cachedUntil = elapsed() + Math.min(CACHE_MS, validMs);
      return true;
    },
  };
}
