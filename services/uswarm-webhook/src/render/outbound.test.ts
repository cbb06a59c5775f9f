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
const environmentOf = ({ spec }: Template): Record<string, string | undefined> =>
  Object.fromEntries(spec.containers[0].env.map(({ name, value }) => [name, value]));

describe('trusted certificate authority', () => {
  const trustedCA = { configMap: 'company-ca', key: 'root.pem' };

  it('the certificate is mounted from its ConfigMap and NODE_EXTRA_CA_CERTS names the file', async () => {
    const pod = await template(withPods({ trustedCA }));
    expect(pod.spec.volumes.at(-1)).toEqual({
      name: 'trusted-ca',
      configMap: { name: 'company-ca', defaultMode: 420, items: [{ key: 'root.pem', path: 'ca.crt' }] },
    });
    const mount = { name: 'trusted-ca', mountPath: '/etc/uswarm/trusted-ca', readOnly: true };
    expect(pod.spec.containers[0].volumeMounts.at(-1)).toEqual(mount);
    expect(environmentOf(pod)['NODE_EXTRA_CA_CERTS']).toBe('/etc/uswarm/trusted-ca/ca.crt');
  });

  it('a pod has only the volumes cache and tmp by default', async () => {
    const pod = await template(testSettings());
    expect(pod.spec.volumes.map(({ name }) => name)).toEqual(['cache', 'tmp']);
    expect(Object.keys(environmentOf(pod)).filter((name) => /PROXY|CERTS/.test(name))).toEqual([]);
  });
});

describe('proxy', () => {
  it('the proxy and its exceptions reach the runtime as environment variables', async () => {
    const proxy = { https: 'http://proxy.test:3128', http: 'http://proxy.test:3129', noProxy: 'localhost,.svc' };
    expect(environmentOf(await template(withPods({ proxy })))).toMatchObject({
      HTTPS_PROXY: 'http://proxy.test:3128',
      HTTP_PROXY: 'http://proxy.test:3129',
      NO_PROXY: 'localhost,.svc',
      NODE_USE_ENV_PROXY: '1',
    });
  });

  it('a variable in extraEnv replaces the generated one', async () => {
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
    expect(environmentOf(pod)).toMatchObject({ NO_PROXY: 'mine', NODE_EXTRA_CA_CERTS: '/mine' });
  });
});

it('a model gateway in extraEnv replaces that of the platform, because names of variables are unique', async () => {
  const pods = runtimePods.parse({ extraEnv: [{ name: 'MODEL_GATEWAY_URL', value: 'http://mine.test' }] });
  const modelGateway = { url: 'http://gateway.test:8080', provider: 'openai' };
  const { env } = (await template(testSettings({ pods, modelGateway }))).spec.containers[0];
  expect(env.filter(({ name }) => name === 'MODEL_GATEWAY_URL')).toEqual([
    { name: 'MODEL_GATEWAY_URL', value: 'http://mine.test' },
  ]);
});

it('the configured grace period is set in the pod and in the environment of the runtime', async () => {
  const pod = await template(withPods({ terminationGracePeriodSeconds: 120 }));
  expect(pod.spec.terminationGracePeriodSeconds).toBe(120);
  expect(environmentOf(pod)['USWARM_TERMINATION_GRACE_S']).toBe('120');
});

describe('Secret revision', () => {
  const next = withPods({ secretRevision: '2' });

  it('the Secret revision is in the pod template and changes the platform revision', async () => {
    expect((await template(next)).metadata.annotations).toEqual({ 'uswarm.dev/secret-revision': '2' });
    expect((await template(testSettings())).metadata.annotations).toBeUndefined();
    const revisions = [undefined, '1', '2'].map((secretRevision) => platformRevision(withPods({ secretRevision })));
    expect(new Set(revisions).size).toBe(3);
  });

  it('a new Secret revision reaches a running runtime only through the rollout gate', async () => {
    const running = await settledRequest(userSwarm());
    expect((await template(next, running)).metadata.annotations).toBeUndefined();
    const { status } = render(running, next, await testFacts());
    expect(status).toMatchObject({ phase: 'Ready', pendingRevision: next.platformRevision });
    const suspended = { ...running, parent: { ...running.parent, spec: userSwarm({ suspend: true }).spec } };
    expect((await template(next, suspended)).metadata.annotations).toEqual({ 'uswarm.dev/secret-revision': '2' });
  });
});
