import type { Clock } from '@uswarm/service-kit';

const WINDOW_MS = 60_000;

/**
 * Limits how many runtimes this process newly reports as unreachable. If the orchestrator itself is cut off, all
 * runtimes are unreachable: the platform then shows some, and the metric counts all.
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
