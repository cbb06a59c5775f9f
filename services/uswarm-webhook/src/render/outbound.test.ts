import { describe, expect, it } from '@jest/globals';
import { settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { runtimePods } from '../config/runtime-pods.js';
import { platformRevision } from './platform-revision.js';
import { render } from './render.js';
import type { RenderSettings } from './settings.js';

interface Template {
  metadata: { annotations?: Record<string, string> };
  spec: {
    terminationGracePeriodSeconds: number;
    containers: [{ env: { name: string; value?: string }[]; volumeMounts: object[] }];
    volumes: { name: string }[];
  };
}
const withPods = (pods: object): RenderSettings => testSettings({ pods: runtimePods.parse(pods) });

async function template(settings: RenderSettings, request = syncRequest(userSwarm())): Promise<Template> {
  const { children } = render(request, settings, await testFacts());
  const deployment = (children as unknown as { kind: string; spec: { template: Template } }[]).find(
    ({ kind }) => kind === 'Deployment',
  );
  return deployment!.spec.template;
}
const variables = ({ spec }: Template): Record<string, string | undefined> =>
  Object.fromEntries(spec.containers[0].env.map(({ name, value }) => [name, value]));

describe('a certificate authority of the operator', () => {
  const trustedCA = { configMap: 'company-ca', key: 'root.pem' };

  it('is mounted from its ConfigMap, and Node is told where it is', async () => {
    const pod = await template(withPods({ trustedCA }));
    expect(pod.spec.volumes.at(-1)).toEqual({
      name: 'trusted-ca',
      configMap: { name: 'company-ca', defaultMode: 420, items: [{ key: 'root.pem', path: 'ca.crt' }] },
    });
    const mount = { name: 'trusted-ca', mountPath: '/etc/uswarm/trusted-ca', readOnly: true };
    expect(pod.spec.containers[0].volumeMounts.at(-1)).toEqual(mount);
    expect(variables(pod)['NODE_EXTRA_CA_CERTS']).toBe('/etc/uswarm/trusted-ca/ca.crt');
  });

  it('is not there by default: a runtime has a cache and a folder for temporary files', async () => {
    const pod = await template(testSettings());
    expect(pod.spec.volumes.map(({ name }) => name)).toEqual(['cache', 'tmp']);
    expect(Object.keys(variables(pod)).filter((name) => /PROXY|CERTS/.test(name))).toEqual([]);
  });
});

describe('a proxy', () => {
  it('reaches the runtime with the names that are excepted from it', async () => {
    const proxy = { https: 'http://proxy.test:3128', http: 'http://proxy.test:3129', noProxy: 'localhost,.svc' };
    expect(variables(await template(withPods({ proxy })))).toMatchObject({
      HTTPS_PROXY: 'http://proxy.test:3128',
      HTTP_PROXY: 'http://proxy.test:3129',
      NO_PROXY: 'localhost,.svc',
      NODE_USE_ENV_PROXY: '1',
    });
  });

  it('never repeats a variable that the operator sets in extraEnv', async () => {
    const extraEnv = [
      { name: 'NO_PROXY', value: 'mine' },
      { name: 'NODE_EXTRA_CA_CERTS', value: '/mine' },
    ];
    const trustedCA = { configMap: 'company-ca', key: 'ca.crt' };
    const pod = await template(
      withPods({ extraEnv, trustedCA, proxy: { https: 'http://proxy.test:3128', noProxy: '.svc' } }),
    );
    const names = pod.spec.containers[0].env.map(({ name }) => name);
    expect(names).toHaveLength(new Set(names).size);
    expect(variables(pod)).toMatchObject({ NO_PROXY: 'mine', NODE_EXTRA_CA_CERTS: '/mine' });
  });
});

it('the grace period of a pod is that of the settings, and the program knows it', async () => {
  const pod = await template(withPods({ terminationGracePeriodSeconds: 120 }));
  expect(pod.spec.terminationGracePeriodSeconds).toBe(120);
  expect(variables(pod)['USWARM_TERMINATION_GRACE_S']).toBe('120');
});

describe('the revision of Secrets', () => {
  const next = withPods({ secretRevision: '2' });

  it('is in the pod template and makes another revision of the platform', async () => {
    expect((await template(next)).metadata.annotations).toEqual({ 'uswarm.dev/secret-revision': '2' });
    expect((await template(testSettings())).metadata.annotations).toBeUndefined();
    const revisions = [undefined, '1', '2'].map((secretRevision) => platformRevision(withPods({ secretRevision })));
    expect(new Set(revisions).size).toBe(3);
  });

  it('reaches a runtime that runs through the gate of rollouts only', async () => {
    const running = await settledRequest(userSwarm());
    expect((await template(next, running)).metadata.annotations).toBeUndefined();
    const { status } = render(running, next, await testFacts());
    expect(status).toMatchObject({ phase: 'Ready', pendingRevision: next.platformRevision });
    const suspended = { ...running, parent: { ...running.parent, spec: userSwarm({ suspend: true }).spec } };
    expect((await template(next, suspended)).metadata.annotations).toEqual({ 'uswarm.dev/secret-revision': '2' });
  });
});
