import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NAMESPACE, openSession, RELEASE, type Session, type SpecInput } from '../support/index.js';
import { PLAIN_CONTAINER, tryPod } from '../support/plain-pod.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

const container = (security: object): object => ({
  containers: [{ ...PLAIN_CONTAINER, securityContext: { ...PLAIN_CONTAINER.securityContext, ...security } }],
});
const pod = (more: object): object => ({ containers: [PLAIN_CONTAINER], ...more });

describe('a pod in the runtime namespace', () => {
  it('is accepted when it follows the restricted profile', async () => {
    await expect(tryPod(session.api, NAMESPACE.runtime, pod({}))).resolves.toBeDefined();
  });

  it.each([
    ['runs as root', container({ runAsNonRoot: false, runAsUser: 0 }), /runAsNonRoot != true.*runAsUser=0/],
    ['is privileged', container({ privileged: true, allowPrivilegeEscalation: true }), /privileged/],
    ['may gain privileges', container({ allowPrivilegeEscalation: true }), /allowPrivilegeEscalation != false/],
    ['keeps capabilities', container({ capabilities: {} }), /unrestricted capabilities/],
    [
      'adds a capability',
      container({ capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
      /unrestricted capabilities/,
    ],
    ['filters no system calls', container({ seccompProfile: { type: 'Unconfined' } }), /seccompProfile/],
    ['uses the network of its node', pod({ hostNetwork: true }), /hostNetwork=true/],
    ['sees the processes of its node', pod({ hostPID: true }), /hostPID=true/],
    ['mounts a folder of its node', pod({ volumes: [{ name: 'root', hostPath: { path: '/' } }] }), /hostPath/],
  ])('is rejected when it %s, and accepted in a namespace without Pod Security', async (_what, spec, why) => {
    await expect(tryPod(session.api, NAMESPACE.edge, spec)).resolves.toBeDefined();
    await expect(tryPod(session.api, NAMESPACE.runtime, spec)).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(new RegExp(`violates PodSecurity "restricted.*${why.source}`)),
    });
  });
});

// The message documented in docs/operations.md.
const DENIED = `ValidatingAdmissionPolicy '${RELEASE}-policy' with binding '${RELEASE}-policy' denied request: PolicyDenied:`;

describe('a UserSwarm with a forbidden reference', () => {
  // policy-denied.serial.e2e.test.ts verifies that each is accepted without the policy.
  it.each<[string, SpecInput, string]>([
    [
      'the namespace of the platform',
      { placement: { runtimeNamespace: NAMESPACE.release } },
      `The namespace ${NAMESPACE.release} is not one for runtimes.`,
    ],
    [
      'a namespace of the cluster',
      { placement: { runtimeNamespace: 'kube-system' } },
      'The namespace kube-system is not one for runtimes.',
    ],
    [
      'a Secret of another tenant',
      { config: { envSecretRef: { name: 'workspace-other-env' } } },
      "The Secret workspace-other-env is neither the workspace's own nor a shared one.",
    ],
    [
      'the Secret of the stores',
      { config: { envSecretRef: { name: 'uswarm-runtime-stores' } } },
      "The Secret uswarm-runtime-stores is neither the workspace's own nor a shared one.",
    ],
    [
      'an image from elsewhere',
      { runtime: { image: 'registry.example.com/other/runtime:1' } },
      'The image registry.example.com/other/runtime:1 is not allowed.',
    ],
  ])('is rejected: %s', async (_what, spec, why) => {
    const name = session.newName();
    await expect(session.api.create('UserSwarm', session.manifest(spec, name))).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining(`"${name}" is forbidden: ${DENIED} ${why}`),
    });
    expect(await session.api.find('UserSwarm', { name })).toBeUndefined();
  });

  it('keeps its spec when a change to a forbidden reference is rejected', async () => {
    const name = await session.create({ suspend: true });
    const image = 'registry.example.com/other/runtime:1';
    const spec = { runtime: { image } };
    await expect(session.api.merge('UserSwarm', { name }, { spec })).rejects.toMatchObject({ status: 403 });
    expect((await session.api.get('UserSwarm', { name })).spec.runtime).not.toHaveProperty('image');
  });
});
