import { expect, it } from '@jest/globals';
import type { FailureReason } from '@uswarm/contract/userswarm';
import { conditionOf, messageOf, type Session, type SpecInput } from '../src/index.js';

/** What is stored and not carried out. */
export interface SpecRefusal {
  reason: FailureReason;
  bad: SpecInput;
  good: SpecInput;
  says: RegExp;
}

/** What holds for every spec that the webhook refuses. */
export function itRefuses(session: () => Session, { bad, good, reason, says }: SpecRefusal): void {
  it(`is Error for ${reason}, has no children, and recovers when it is put right`, async () => {
    const name = await session().create(bad);
    const refused = await session().shows(name, 'Error', reason);
    expect(messageOf(refused)).toMatch(says);
    expect(conditionOf(refused, 'ConfigValid')).toMatchObject({ status: 'False', reason });
    const { deployment, pods, service, serviceAccount } = await session().children(name);
    expect([deployment, service, serviceAccount, ...pods].filter(Boolean)).toEqual([]);
    await session().patch(name, good);
    await session().ready(name);
  }, 150_000);

  it('keeps a runtime that was there before', async () => {
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
      'seen with the suspension',
      (swarm) => swarm?.status?.observedGeneration === swarm?.metadata.generation && swarm?.status?.phase === 'Error',
      10_000,
    );
    const { deployment } = await session().children(name);
    expect(deployment?.spec?.replicas).toBe(0);
  }, 150_000);
}
