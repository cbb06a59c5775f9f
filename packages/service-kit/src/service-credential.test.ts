import { describe, expect, it } from '@jest/globals';
import { Registry } from './metrics.js';
import { createServiceCredential, type ServiceCredential, type TokenVerdict } from './service-credential.js';

/** @param verdicts what the orchestrator responds, in order; `away` if it does not */
function setUp(verdicts: (TokenVerdict | 'away')[] = []) {
  const logged: string[] = [];
  const state = { time: 0, asked: 0 };
  const registry = new Registry();
  const credential = createServiceCredential(
    async (note: ServiceCredential['note']) => {
      state.asked += 1;
      const verdict = verdicts.shift() ?? 'away';
      if (verdict === 'away') throw new Error('no connection');
      note(verdict);
    },
    {
      setting: 'INTERNAL_API_KEY',
      registry,
      logger: {
        error: (_context: object, message?: string) => void logged.push(message ?? ''),
        info: (message: string) => void logged.push(message),
      } as never,
      everyMs: 10_000,
      provenMs: 15_000,
      now: () => state.time,
    },
  );
  const refused = async () =>
    ((await registry.getSingleMetric('uswarm_service_token_refused')?.get())?.values ?? [])
      .filter(({ value }) => value === 1)
      .map(({ labels }) => labels['reason']);
  return { credential, state, logged, refused };
}

describe('the service credential', () => {
  it.each(['expired', 'invalid'] as const)(
    'is not accepted from the first %s token on, which names the cause once',
    async (verdict) => {
      const { credential, logged, refused } = setUp([verdict]);
      await credential.start();
      credential.stop();
      credential.note(verdict);
      expect(credential.isAccepted()).toBe(false);
      expect(await refused()).toEqual([verdict]);
      expect(logged).toEqual([expect.stringContaining(verdict === 'expired' ? 'clock' : 'INTERNAL_API_KEY')]);
    },
  );

  it('is accepted while the orchestrator does not respond', async () => {
    const { credential, refused } = setUp();
    await credential.start();
    credential.stop();
    expect(credential.isAccepted()).toBe(true);
    expect(await refused()).toEqual([]);
  });

  it('stays refused while the orchestrator does not respond, and is accepted with the first accepted token', async () => {
    const { credential, logged } = setUp(['invalid', 'away']);
    await credential.start();
    credential.stop();
    expect(await credential.proven()).toBe(false);
    expect(credential.isAccepted()).toBe(false);
    credential.note('accepted');
    expect(credential.isAccepted()).toBe(true);
    expect(logged).toHaveLength(2);
  });

  it('stays accepted while one of several replicas refuses it, and not longer than the others are silent', () => {
    const { credential, state, logged } = setUp();
    credential.note('accepted');
    state.time = 14_000;
    credential.note('invalid');
    expect(credential.isAccepted()).toBe(true);
    expect(logged).toEqual([]);
    state.time = 16_000;
    credential.note('invalid');
    expect(credential.isAccepted()).toBe(false);
    expect(logged).toHaveLength(1);
  });

  it.each([
    [true, 'the orchestrator accepts it', 'accepted'],
    [false, 'the orchestrator refuses it', 'expired'],
    [false, 'the orchestrator does not respond', 'away'],
  ] as const)('is proven: %s if %s now', async (proven, _when, verdict) => {
    const { credential, state } = setUp([verdict]);
    credential.note('accepted');
    state.time = 10_000;
    expect(await credential.proven()).toBe(proven);
    expect(state.asked).toBe(1);
  });

  it('is proven without a call by a token that was just accepted', async () => {
    const { credential, state } = setUp();
    credential.note('accepted');
    expect(await credential.proven()).toBe(true);
    expect(state.asked).toBe(0);
  });
});
