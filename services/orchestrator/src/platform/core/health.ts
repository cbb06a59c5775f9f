import type { Clock } from '@uswarm/service-kit';

const SHARED_MS = 1_000;

/** Checks at most once per second and shares the result: health is public and only limited per address. */
export function sharedHealth(look: () => Promise<boolean>, clock: Clock): () => Promise<boolean> {
  let latest: { at: number; online: Promise<boolean> } | undefined;
  return () => {
    const now = clock.now().getTime();
    // If the clock is set back, the old result must not be reused.
    if (latest === undefined || Math.abs(now - latest.at) >= SHARED_MS) latest = { at: now, online: look() };
    return latest.online;
  };
}
