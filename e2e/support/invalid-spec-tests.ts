import { expect, it } from '@jest/globals';
import type { FailureReason } from '@uswarm/contract/userswarm';
import { conditionOf } from './conditions.js';
import { messageOf, type Session, type SpecInput } from './session.js';

/** A spec that the API server stores and the webhook rejects. */
export interface InvalidSpecCase {
  reason: FailureReason;
  bad: SpecInput;
  good: SpecInput;
  message: RegExp;
}

/** Defines the tests for a spec that the webhook rejects. */
export function itReportsInvalidSpec(session: () => Session, { bad, good, reason, message }: InvalidSpecCase): void {
  it(`has the phase Error with ${reason} and no children until it is corrected`, async () => {
    const name = await session().create(bad);
    const failed = await session().shows(name, 'Error', reason);
    expect(messageOf(failed)).toMatch(message);
    expect(conditionOf(failed, 'ConfigValid')).toMatchObject({ status: 'False', reason });
    const { deployment, pods, service, serviceAccount } = await session().children(name);
    expect([deployment, service, serviceAccount, ...pods].filter(Boolean)).toEqual([]);
    await session().patch(name, good);
    await session().ready(name);
  }, 150_000);

  it('keeps a running runtime', async () => {
    const name = await session().create();
    await session().ready(name);
    const before = await session().children(name);
    await session().patch(name, bad);
    await session().shows(name, 'Error', reason);
    const after = await session().children(name);
    expect(after.pods.map(({ metadata }) => metadata?.uid)).toEqual(before.pods.map(({ metadata }) => metadata?.uid));
    expect(after.deployment?.metadata?.generation).toBe(before.deployment?.metadata?.generation);
    // A suspension is still applied.
    await session().patch(name, { suspend: true });
    await session().swarms.until(
      name,
      'observed with the suspension',
      (swarm) => swarm?.status?.observedGeneration === swarm?.metadata.generation && swarm?.status?.phase === 'Error',
      10_000,
    );
    const { deployment } = await session().children(name);
    expect(deployment?.spec?.replicas).toBe(0);
  }, 150_000);
}
