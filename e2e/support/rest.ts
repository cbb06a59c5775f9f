import { eventually } from '@uswarm/testkit/eventually';
import { sumOf } from './metrics.js';

interface EveryOneSynced {
  /** The controller's current metrics. */
  scrape: () => Promise<string>;
  times: number;
  /** Seconds. */
  resyncS: number;
}

/** Waits until every UserSwarm was synced `times` more times, according to the oldest reconcile age. */
export async function everyOneSynced({ resyncS, scrape, times }: EveryOneSynced): Promise<void> {
  for (let turn = 1; turn <= times; turn += 1) {
    const began = performance.now();
    await eventually(
      async () => {
        const asked = performance.now();
        const longest = sumOf(await scrape(), 'uswarm_controller_oldest_reconcile_age_seconds') * 1_000;
        if (asked - longest <= began) throw new Error(`one was not for ${longest} ms`);
        return true;
      },
      { description: `each was synced ${turn} times`, timeoutMs: 2 * resyncS * 1_000, intervalMs: 500 },
    );
  }
}
