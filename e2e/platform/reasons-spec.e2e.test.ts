import { afterAll, beforeAll, describe } from '@jest/globals';
import { openSession, type Session } from '../src/index.js';
import { itRefuses } from '../test/spec-refusals.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

// What the policy does not allow is refused by admission: policy-denied.serial.e2e.test.ts lifts that.
describe('PHASE-004 CTRL-002: a model provider that the runtime does not have', () => {
  itRefuses(() => session, {
    reason: 'InvalidSpec',
    bad: { config: { defaultProvider: 'anthropic' } },
    good: { config: { defaultProvider: 'demo' } },
    says: /anthropic is not a provider of the runtime/,
  });
});
