import { generateLoad } from './generate.js';
import type { Job } from './job.js';

// A load generator: a process of its own, so that its processor time can be told from everybody else's.
process.once('message', (job: Job) => {
  void generateLoad(job).then((measured) => process.send?.(measured, () => process.disconnect()));
});
process.once('disconnect', () => process.exit(0));
