import { describe, expect, it } from '@jest/globals';
import { API_GROUP, USERSWARM_PLURAL } from '@uswarm/contract/userswarm';
import { evaluation, find, ofKind, podTemplates, render } from './rendering.js';

// What the policy refuses is tried on a real API server: e2e/admission/.
describe('the admission policy', () => {
  it('can be switched off', async () => {
    const none = await render({ ...evaluation, admissionPolicy: { enabled: false } });
    expect(none.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'))).toEqual([]);
  });

  it('looks at UserSwarms that are made or changed, and not at their status', async () => {
    const { spec } = find(await render(evaluation), 'ValidatingAdmissionPolicy', 'uswarm-policy');
    expect(spec.matchConstraints.resourceRules).toEqual([
      { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [USERSWARM_PLURAL] },
    ]);
    expect(spec.failurePolicy).toBe('Fail');
  });

  it('has a name of the release, and reads the lists that the webhook mounts', async () => {
    const manifests = await render(evaluation, { release: 'other', namespace: 'elsewhere' });
    const [policy] = ofKind(manifests, 'ValidatingAdmissionPolicy');
    const [binding] = ofKind(manifests, 'ValidatingAdmissionPolicyBinding');
    const webhook = podTemplates(manifests).find(({ owner }) => owner === 'other-uswarm-webhook')!;
    const mounted = (webhook.spec.volumes as { name: string; configMap?: { name: string } }[]).find(
      ({ name }) => name === 'policy',
    );
    expect(policy!.metadata.name).toBe('other-uswarm-policy');
    expect(binding!['spec']).toEqual({
      policyName: policy!.metadata.name,
      paramRef: { name: mounted!.configMap!.name, namespace: 'elsewhere', parameterNotFoundAction: 'Deny' },
      validationActions: ['Deny'],
    });
    expect(find(manifests, 'ConfigMap', mounted!.configMap!.name, 'elsewhere')['data']).toBeDefined();
  });

  it('always has the default image and the shared model keys in its lists', async () => {
    const manifests = await render({
      ...evaluation,
      runtime: { image: { registry: 'r.example.com', repository: 'a/b' }, modelEnv: { existingSecret: 'keys' } },
    });
    expect(find(manifests, 'ConfigMap', 'uswarm-policy')['data']).toMatchObject({
      imagePrefixes: 'r.example.com/a/b',
      sharedEnvSecrets: 'keys',
    });
  });
});
