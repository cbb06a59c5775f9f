import type { Clock } from '@uswarm/service-kit';

/** Milliseconds for which one check of Postgres answers all health checks. */
const SHARED_MS = 1_000;

/** Looks at most once a second, and shares what it saw: anyone may ask, as often as the address limit allows. */
export function sharedHealth(look: () => Promise<boolean>, clock: Clock): () => Promise<boolean> {
  let latest: { at: number; online: Promise<boolean> } | undefined;
  return () => {
    const now = clock.now().getTime();
    // A clock that is set back must not keep an old result.
    if (latest === undefined || Math.abs(now - latest.at) >= SHARED_MS) latest = { at: now, online: look() };
    return latest.online;
  };
}
