import { jest } from '@jest/globals';

// Racy tests fail whole runs. One repetition lets a run end, and `npm test` reports each and accepts only a few.
if (process.env.USWARM_RETRY_TESTS === '1') jest.retryTimes(1, { logErrorsBeforeRetry: true });
