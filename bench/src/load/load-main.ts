import { generateLoad } from './generate.js';
import type { Job } from './job.js';

// A load generator: a separate process, so that its CPU time is measured separately.
process.once('message', (job: Job) => {
  void generateLoad(job).then((measured) => process.send?.(measured, () => process.disconnect()));
});
process.once('disconnect', () => process.exit(0));
