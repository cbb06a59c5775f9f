import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import {
  KubeApiError,
  messageOf,
  NAMESPACE,
  openSession,
  RELEASE,
  type Session,
  type SpecInput,
  upgradeRelease,
} from '../support/index.js';
import { itReportsInvalidSpec } from '../support/invalid-spec-tests.js';

const BINDING = { name: `${RELEASE}-policy` };
const IMAGE = 'registry.example.com/other/runtime:1';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

/** Returns whether the API server accepts a UserSwarm with this image. */
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
  await eventually(async () => (await admits()) === (action === 'Audit'), {
    description: `admission: ${action}`,
    timeoutMs: 30_000,
  });
}

describe('a forbidden reference without the admission policy', () => {
  beforeAll(async () => {
    if (await admits()) throw new Error('the admission policy is not in force');
    await enforce('Audit');
    session.onClose(() => enforce('Deny'));
  });

  describe.each<[string, { bad: SpecInput; good: SpecInput; message: RegExp }]>([
    [
      'a foreign image',
      {
        bad: { runtime: { image: IMAGE } },
        good: { runtime: { image: '' } },
        message: /registry\.example\.com\/other/,
      },
    ],
    [
      'a Secret of another workspace',
      {
        bad: { config: { envSecretRef: { name: 'workspace-other-env' } } },
        good: { config: { envSecretRef: { name: 'uswarm-model-env' } } },
        message: /workspace-other-env/,
      },
    ],
  ])('PHASE-004 CTRL-002: %s', (_what, spec) => {
    itReportsInvalidSpec(() => session, { reason: 'PolicyDenied', ...spec });
  });

  it('PHASE-004 CTRL-002: is reported as PolicyDenied without children for another namespace', async () => {
    const name = await session.create({ placement: { runtimeNamespace: NAMESPACE.release } });
    const refused = await session.shows(name, 'Error', 'PolicyDenied');
    expect(messageOf(refused)).toContain(NAMESPACE.release);
    const { deployment, service, serviceAccount } = await session.children(name, NAMESPACE.release);
    expect([deployment, service, serviceAccount].filter(Boolean)).toEqual([]);
  });

  it('can be suspended, corrected and deleted when the policy is active again, but not changed to another forbidden one', async () => {
    const [name, other] = await Promise.all([1, 2].map(() => session.create({ runtime: { image: IMAGE } })));
    await Promise.all([name!, other!].map((each) => session.shows(each, 'Error', 'PolicyDenied')));
    await enforce('Deny');
    await session.patch(name!, { suspend: true });
    const stillForbidden = { spec: { runtime: { image: `${IMAGE}2` } } };
    await expect(session.api.merge('UserSwarm', { name: name! }, stillForbidden)).rejects.toMatchObject({
      status: 403,
    });
    // The controller removes the finalizer, which is an update that the policy must accept.
    await session.api.delete('UserSwarm', { name: other! });
    await session.deleted(other!);
    await session.patch(name!, { suspend: false, runtime: { image: '' } });
    await session.ready(name!);
  });
});

describe('an admission policy that is disabled and enabled', () => {
  const foreignImage = 'elsewhere.test/app:1';
  const waitForAdmission = (image: string, accepted: boolean): Promise<boolean> =>
    eventually(() => admits(image), {
      until: (admitted) => admitted === accepted,
      description: `${image}: ${accepted ? 'accepted' : 'rejected'}`,
      timeoutMs: 30_000,
    });

  // API servers without a binding keep the ConfigMap's last lists, or none.
  it('is in force again with the current lists', async () => {
    expect(await admits()).toBe(false);
    session.onClose(() => upgradeRelease(session, {}));
    await upgradeRelease(session, { admissionPolicy: { enabled: false } });
    expect(await waitForAdmission(IMAGE, true)).toBe(true);
    const imagePrefixes = ['localhost/uswarm/', 'localhost/uswarm-test/', 'elsewhere.test/'];
    await upgradeRelease(session, { runtime: { imagePrefixes } });
    expect(await waitForAdmission(IMAGE, false)).toBe(false);
    expect(await waitForAdmission(foreignImage, true)).toBe(true);
    await upgradeRelease(session, {});
    expect(await waitForAdmission(foreignImage, false)).toBe(false);
  });
});
