import { describe, expect, it } from '@jest/globals';
import { runtimePods } from '@uswarm/webhook';
import {
  container,
  evaluation,
  helm,
  type Manifest,
  ofKind,
  podTemplates,
  parseManifests,
  render,
  repositoryFile,
} from './support/rendering.js';
import { merge } from './support/value-paths.js';

const example = (name: string) => ({ files: [repositoryFile(`deploy/isolation/${name}-values.yaml`)] });
/** Settings that the webhook renders into each runtime pod. */
function runtimeSettings(manifests: readonly Manifest[]): ReturnType<typeof runtimePods.parse> {
  const { env = [] } = container(manifests, 'uswarm-webhook', 'webhook');
  return runtimePods.parse(JSON.parse(env.find(({ name }) => name === 'RUNTIME_PODS')!.value!));
}
/** The expressions with which the API server compares a runtime's pod. */
const policy = (manifests: readonly Manifest[]): string =>
  JSON.stringify(ofKind(manifests, 'ValidatingAdmissionPolicy').map(({ spec }) => spec));

describe('user namespaces', () => {
  it('are off by default, and no pod names them', async () => {
    const manifests = await render(evaluation);
    expect(runtimeSettings(manifests)).not.toHaveProperty('hostUsers');
    expect(podTemplates(manifests).filter(({ spec }) => 'hostUsers' in spec)).toEqual([]);
    expect(policy(manifests)).not.toContain('hostUsers');
  });

  it('are on for runtimes and all pods of the release in the example, and the policy requires them', async () => {
    const manifests = await render(evaluation, example('user-namespaces'));
    expect(runtimeSettings(manifests)).toMatchObject({ hostUsers: false });
    const pods = podTemplates(manifests);
    expect(pods.length).toBeGreaterThan(5);
    expect(pods.filter(({ spec }) => (spec as { hostUsers?: boolean }).hostUsers !== false)).toEqual([]);
    expect(policy(manifests)).toContain('hostUsers');
  });

  it.each(['defaults.hostUsers', 'runtime.pods.hostUsers'])('are refused before Kubernetes 1.33: %s', async (path) => {
    const [outer, ...inner] = path.split('.').toReversed();
    const values = inner.reduce<object>((value, key) => ({ [key]: value }), { [outer!]: false });
    const rendering = (version: string) =>
      helm(['template', '--kube-version', version], merge(evaluation, values)).then(
        parseManifests,
        ({ stderr }: { stderr: string }) => stderr,
      );
    expect(await rendering('1.32.9')).toContain(
      `${path}: false requires Kubernetes 1.33 or newer, and this cluster has v1.32.9.`,
    );
    expect(Array.isArray(await rendering('1.33.0-gke.100'))).toBe(true);
  });
});

describe('a RuntimeClass', () => {
  it('is created and used for runtimes only in the example for gVisor', async () => {
    const manifests = await render(evaluation, example('gvisor'));
    const [own] = ofKind(manifests, 'RuntimeClass');
    expect(own).toMatchObject({ metadata: { name: 'gvisor' }, handler: 'runsc' });
    expect(runtimeSettings(manifests)).toMatchObject({ runtimeClassName: 'gvisor' });
    expect(podTemplates(manifests).filter(({ spec }) => 'runtimeClassName' in spec)).toEqual([]);
  });

  it('can be set for all pods of the release', async () => {
    const manifests = await render(merge(evaluation, { defaults: { runtimeClassName: 'kata' } }));
    const classes = podTemplates(manifests).map(({ spec }) => (spec as { runtimeClassName?: string }).runtimeClassName);
    expect(new Set(classes)).toEqual(new Set(['kata']));
    expect(runtimeSettings(manifests)).not.toHaveProperty('runtimeClassName');
  });
});
