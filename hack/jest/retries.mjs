import { jest } from '@jest/globals';

// A failed test runs once more after the other tests of its file. `npm test` reports it, and accepts only a few.
if (process.env.USWARM_RETRY_TESTS === '1') jest.retryTimes(1, { logErrorsBeforeRetry: true });
