import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FailureReason } from '@uswarm/contract/userswarm';
import { conditionOf, messageOf, NAMESPACE, openSession, type Session, type SpecInput } from '../src/index.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close(), 150_000);

/** Beyond what an API server can count; a quantity nevertheless, so that admission takes it. */
const BEYOND = '100E';

interface Refusal {
  title: string;
  reason: FailureReason;
  bad: SpecInput;
  good: SpecInput;
  says: RegExp;
}

const REFUSALS: Refusal[] = [
  {
    title: 'an amount of memory that does not exist',
    reason: 'InvalidSpec',
    bad: { runtime: { resources: { limits: { memory: BEYOND } } } },
    good: { runtime: { resources: { limits: { memory: '512Mi' } } } },
    says: /limits\.memory/,
  },
  {
    title: 'an image from elsewhere',
    reason: 'PolicyDenied',
    bad: { runtime: { image: 'registry.example.com/somebody/runtime:1' } },
    good: { runtime: { image: '' } },
    says: /registry\.example\.com\/somebody\/runtime:1/,
  },
  {
    title: 'a Secret of somebody else',
    reason: 'PolicyDenied',
    bad: { config: { envSecretRef: { name: 'workspace-somebody-else-env' } } },
    good: { config: { envSecretRef: { name: 'uswarm-model-env' } } },
    says: /workspace-somebody-else-env/,
  },
];

describe.each(REFUSALS)('PHASE-004 CTRL-002: $title', ({ bad, good, reason, says }) => {
  it(`is Error for ${reason}, has no children, and recovers when it is put right`, async () => {
    const name = await session.create(bad);
    const refused = await session.shows(name, 'Error', reason);
    expect(messageOf(refused)).toMatch(says);
    expect(conditionOf(refused, 'ConfigValid')).toMatchObject({ status: 'False', reason });
    const { deployment, pods, service, serviceAccount } = await session.children(name);
    expect([deployment, service, serviceAccount, ...pods].filter(Boolean)).toEqual([]);
    await session.patch(name, good);
    await session.ready(name);
  }, 150_000);

  it('keeps a runtime that was there before', async () => {
    const name = await session.create();
    await session.ready(name);
    const before = await session.children(name);
    await session.patch(name, bad);
    await session.shows(name, 'Error', reason);
    const after = await session.children(name);
    expect(after.pods.map(({ metadata }) => metadata?.uid)).toEqual(before.pods.map(({ metadata }) => metadata?.uid));
    expect(after.deployment?.metadata?.generation).toBe(before.deployment?.metadata?.generation);
    // A suspension is obeyed all the same.
    await session.patch(name, { suspend: true });
    await session.swarms.until(
      name,
      'seen with the suspension',
      (swarm) => swarm?.status?.observedGeneration === swarm?.metadata.generation && swarm?.status?.phase === 'Error',
      10_000,
    );
    const { deployment } = await session.children(name);
    expect(deployment?.spec?.replicas).toBe(0);
  }, 150_000);
});

describe('PHASE-004 CTRL-002: a namespace that is not one for runtimes', () => {
  it('is Error for PolicyDenied, and leaves that namespace alone', async () => {
    const name = await session.create({ placement: { runtimeNamespace: NAMESPACE.release } });
    const refused = await session.shows(name, 'Error', 'PolicyDenied');
    expect(messageOf(refused)).toContain(NAMESPACE.release);
    const { deployment, service, serviceAccount } = await session.children(name, NAMESPACE.release);
    expect([deployment, service, serviceAccount].filter(Boolean)).toEqual([]);
  });
});
