import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  eventually,
  KubeApiError,
  messageOf,
  NAMESPACE,
  openSession,
  RELEASE,
  type Session,
  type SpecInput,
  upgradeRelease,
} from '../src/index.js';
import { itRefuses } from '../test/spec-refusals.js';

const BINDING = { name: `${RELEASE}-policy` };
const IMAGE = 'registry.example.com/somebody/runtime:1';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

/** Whether the API server takes a UserSwarm with this image. */
async function admits(image = IMAGE): Promise<boolean> {
  const attempt = session.manifest({ runtime: { image } });
  try {
    await session.api.create('UserSwarm', attempt, { dryRun: true });
    return true;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 403) return false;
    throw error;
  }
}

async function enforce(action: 'Deny' | 'Audit'): Promise<void> {
  await session.api.merge('ValidatingAdmissionPolicyBinding', BINDING, { spec: { validationActions: [action] } });
  await eventually(`admission: ${action}`, { withinMs: 30_000 }, async () =>
    (await admits()) === (action === 'Audit') ? true : undefined,
  );
}

describe('with the admission policy lifted', () => {
  beforeAll(async () => {
    if (await admits()) throw new Error('the admission policy is not in force');
    await enforce('Audit');
    session.onClose(() => enforce('Deny'));
  });

  describe.each<[string, { bad: SpecInput; good: SpecInput; says: RegExp }]>([
    [
      'an image from elsewhere',
      {
        bad: { runtime: { image: IMAGE } },
        good: { runtime: { image: '' } },
        says: /registry\.example\.com\/somebody/,
      },
    ],
    [
      'a Secret of another workspace',
      {
        bad: { config: { envSecretRef: { name: 'workspace-somebody-else-env' } } },
        good: { config: { envSecretRef: { name: 'uswarm-model-env' } } },
        says: /workspace-somebody-else-env/,
      },
    ],
  ])('PHASE-004 CTRL-002: %s', (_what, spec) => {
    itRefuses(() => session, { reason: 'PolicyDenied', ...spec });
  });

  it('PHASE-004 CTRL-002: a namespace that is not one for runtimes is PolicyDenied, and left alone', async () => {
    const name = await session.create({ placement: { runtimeNamespace: NAMESPACE.release } });
    const refused = await session.shows(name, 'Error', 'PolicyDenied');
    expect(messageOf(refused)).toContain(NAMESPACE.release);
    const { deployment, service, serviceAccount } = await session.children(name, NAMESPACE.release);
    expect([deployment, service, serviceAccount].filter(Boolean)).toEqual([]);
  });

  it('one that was stored can be suspended, put right and deleted under the policy, and not made worse', async () => {
    const [name, other] = await Promise.all([1, 2].map(() => session.create({ runtime: { image: IMAGE } })));
    await Promise.all([name!, other!].map((each) => session.shows(each, 'Error', 'PolicyDenied')));
    await enforce('Deny');
    await session.patch(name!, { suspend: true });
    const worse = { spec: { runtime: { image: `${IMAGE}2` } } };
    await expect(session.api.merge('UserSwarm', { name: name! }, worse)).rejects.toMatchObject({ status: 403 });
    // Its finalizer is taken off by the controller, which is an update as well.
    await session.api.delete('UserSwarm', { name: other! });
    await session.gone(other!);
    await session.patch(name!, { suspend: false, runtime: { image: '' } });
    await session.ready(name!);
  });
});

describe('an admission policy that was switched off', () => {
  const elsewhere = 'elsewhere.test/app:1';
  const becomes = (image: string, taken: boolean): Promise<boolean> =>
    eventually(`${image}: ${taken ? 'taken' : 'refused'}`, { withinMs: 30_000 }, async () =>
      (await admits(image)) === taken ? taken : undefined,
    );

  // API servers that lost their last binding with a ConfigMap go on with the lists of that time, or none.
  it('is in force again once it is on, with the lists as they are then', async () => {
    expect(await admits()).toBe(false);
    session.onClose(() => upgradeRelease(session, {}));
    await upgradeRelease(session, { admissionPolicy: { enabled: false } });
    expect(await becomes(IMAGE, true)).toBe(true);
    const imagePrefixes = ['localhost/uswarm/', 'localhost/uswarm-test/', 'elsewhere.test/'];
    await upgradeRelease(session, { runtime: { imagePrefixes } });
    expect(await becomes(IMAGE, false)).toBe(false);
    expect(await becomes(elsewhere, true)).toBe(true);
    await upgradeRelease(session, {});
    expect(await becomes(elsewhere, false)).toBe(false);
  });
});
