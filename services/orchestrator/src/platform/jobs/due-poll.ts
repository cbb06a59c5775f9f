import type { Logger } from '@uswarm/service-kit';
import type { JobQueue } from './job-queue.js';
import type { JobWorker } from './job-worker.js';
import { createPollLoop, type PollLoop } from './poll-loop.js';

export interface DuePollDeps {
  store: Pick<JobQueue, 'dueKinds'>;
  /** The workers that can take jobs, by job type. */
  workers: ReadonlyMap<string, Pick<JobWorker, 'poll'>>;
  /** Milliseconds between two polls. */
  pollMs: number;
  logger: Logger;
}

/** Finds the jobs that no signal announces, with one statement for all job types: at rest, workers send none. */
export function createDuePoll({ store, workers, pollMs, logger }: DuePollDeps): PollLoop {
  const kinds = [...workers.keys()];
  return createPollLoop({
    async round() {
      const due = kinds.length === 0 ? [] : await store.dueKinds(kinds);
      // A worker without a free place must not signal other processes: they poll too.
      for (const kind of due) workers.get(kind)?.poll(true);
      return false;
    },
    pollMs,
    onError: (error) => logger.warn({ err: error }, 'looking for due jobs failed'),
  });
}
