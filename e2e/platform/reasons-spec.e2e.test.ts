import { afterAll, beforeAll, describe } from '@jest/globals';
import { openSession, type Session } from '../src/index.js';
import { itReportsInvalidSpec } from '../test/invalid-spec-tests.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

// Admission rejects forbidden references; policy-denied.serial.e2e.test.ts tests them without the policy.
describe('PHASE-004 CTRL-002: an unknown model provider', () => {
  itReportsInvalidSpec(() => session, {
    reason: 'InvalidSpec',
    bad: { config: { defaultProvider: 'anthropic' } },
    good: { config: { defaultProvider: 'demo' } },
    message: /anthropic is not a provider of the runtime/,
  });
});
