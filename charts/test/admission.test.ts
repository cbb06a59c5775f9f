import { describe, expect, it } from '@jest/globals';
import { API_GROUP, USERSWARM_PLURAL } from '@uswarm/contract/userswarm';
import { evaluation, external, find, podTemplates, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

// e2e/platform/admission-policy.e2e.test.ts tests the policy's decisions on a real API server.
describe('the admission policy', () => {
  it('can be disabled', async () => {
    const none = await render({ ...evaluation, admissionPolicy: { enabled: false } });
    expect(none.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'))).toEqual([]);
  });

  it('validates creates and updates of UserSwarms, but not of their status', async () => {
    const { spec } = find(await render(evaluation), 'ValidatingAdmissionPolicy', 'uswarm-policy');
    expect(spec.matchConstraints.resourceRules).toEqual([
      { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [USERSWARM_PLURAL] },
    ]);
    expect(spec.failurePolicy).toBe('Fail');
  });

  it('is named after the release and reads the same lists as the webhook', async () => {
    const manifests = await render(evaluation, { release: 'other', namespace: 'elsewhere' });
    const policy = find(manifests, 'ValidatingAdmissionPolicy', 'other-uswarm-policy');
    const binding = find(manifests, 'ValidatingAdmissionPolicyBinding', 'other-uswarm-policy');
    const webhook = podTemplates(manifests).find(({ owner }) => owner === 'other-uswarm-webhook')!;
    const mounted = (webhook.spec.volumes as { name: string; configMap?: { name: string } }[]).find(
      ({ name }) => name === 'policy',
    );
    expect(binding['spec']).toEqual({
      policyName: policy.metadata.name,
      paramRef: { name: mounted!.configMap!.name, namespace: 'elsewhere', parameterNotFoundAction: 'Deny' },
      validationActions: ['Deny'],
    });
    expect(find(manifests, 'ConfigMap', mounted!.configMap!.name, 'elsewhere')['data']).toBeDefined();
  });

  it('keeps a policy that matches nothing, so that API servers continue to read ConfigMap parameters', async () => {
    const manifests = await render(evaluation);
    const name = 'uswarm-policy-lists';
    const { spec } = find(manifests, 'ValidatingAdmissionPolicy', name);
    expect(spec.paramKind).toEqual(find(manifests, 'ValidatingAdmissionPolicy', 'uswarm-policy')['spec'].paramKind);
    expect(
      spec.matchConstraints.resourceRules.flatMap(({ operations }: { operations: string[] }) => operations),
    ).toEqual(['CONNECT']);
    const binding = find(manifests, 'ValidatingAdmissionPolicyBinding', name);
    expect(binding['spec']).toMatchObject({ policyName: name, validationActions: ['Audit'] });
  });

  it('validates Deployments that the controller writes in runtime namespaces by the same lists', async () => {
    const runtime = { namespace: 'agents', extraNamespaces: ['team-a'] };
    const manifests = await render({ ...evaluation, runtime }, { release: 'other', namespace: 'elsewhere' });
    const { spec } = find(manifests, 'ValidatingAdmissionPolicy', 'other-uswarm-runtime-pods');
    expect(spec.failurePolicy).toBe('Fail');
    expect(spec.matchConstraints).toEqual({
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['agents', 'team-a'] }],
      },
      resourceRules: [
        { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] },
      ],
    });
    const account = 'system:serviceaccount:elsewhere:other-uswarm-controller';
    expect(spec.matchConditions).toMatchObject([{ expression: `request.userInfo.username in ["${account}"]` }]);
    expect(find(manifests, 'ServiceAccount', 'other-uswarm-controller', 'elsewhere')).toBeDefined();
    const binding = find(manifests, 'ValidatingAdmissionPolicyBinding', 'other-uswarm-runtime-pods');
    const own = find(manifests, 'ValidatingAdmissionPolicyBinding', 'other-uswarm-policy');
    expect(binding['spec']).toEqual({ ...own['spec'], policyName: 'other-uswarm-runtime-pods' });
  });

  it('validates Metacontroller and the configured users like the controller', async () => {
    const users = async (values: object): Promise<string[]> => {
      const { spec } = find(await render(merge(external, values)), 'ValidatingAdmissionPolicy', 'uswarm-runtime-pods');
      return JSON.parse(spec.matchConditions[0].expression.split(' in ')[1]) as string[];
    };
    const controllerUsers = ['system:serviceaccount:a:b'];
    const controller = { framework: 'metacontroller' };
    expect(await users({ controller })).toEqual(['system:serviceaccount:metacontroller:metacontroller']);
    expect(await users({ admissionPolicy: { controllerUsers } })).toEqual([
      'system:serviceaccount:backend:uswarm-controller',
      ...controllerUsers,
    ]);
  });

  it('always allows the default image and the shared model keys', async () => {
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
