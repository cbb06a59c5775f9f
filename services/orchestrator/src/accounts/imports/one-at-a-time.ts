import type { JobDefinition } from '../../platform/jobs/job-definition.js';

/** Until this process can have the next one. */
const BUSY_MS = 5_000;

/** An import can take some hundred megabytes. Others wait in the queue, not for a worker, which has other jobs to do. */
export function oneAtATime(handle: JobDefinition['handle']): JobDefinition['handle'] {
  let isBusy = false;
  return async (job, signal) => {
    if (isBusy) return { againInMs: BUSY_MS };
    isBusy = true;
    try {
      return await handle(job, signal);
    } finally {
      isBusy = false;
    }
  };
}
