import type { Clock } from '@uswarm/service-kit';

const WINDOW_MS = 60_000;

/**
 * Limits how many runtimes this process newly reports as unreachable. If the orchestrator itself is cut off, all are
 * unreachable at once: the first ones say so on the platform, and the metric counts them all.
 */
export function createReportLimit(perMinute: number, clock: Clock): { admits(): boolean } {
  let admitted: number[] = [];
  return {
    admits() {
      const now = clock.now().getTime();
      admitted = admitted.filter((at) => now - at < WINDOW_MS);
      if (admitted.length >= perMinute) return false;
      admitted.push(now);
      return true;
    },
  };
}
