import { afterAll, beforeAll, describe } from '@jest/globals';
import { openSession, type Session } from '../support/index.js';
import { itReportsInvalidSpec } from '../support/invalid-spec-tests.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

// Admission rejects forbidden references; policy-denied.serial.e2e.test.ts tests them without the policy.
describe('PHASE-004 CTRL-002: an unknown model provider', () => {
  itReportsInvalidSpec(() => session, {
    reason: 'InvalidSpec',
    bad: { config: { defaultProvider: 'unknown-provider' } },
    good: { config: { defaultProvider: 'demo' } },
    message: /unknown-provider is not a provider of the runtime/,
  });
});
