import { describe, expect, it } from '@jest/globals';
import {
  container,
  containersOf,
  evaluation,
  external,
  find,
  podTemplates,
  rejection,
  render,
} from './support/rendering.js';

const COMPONENTS = ['orchestrator', 'gateway', 'webhook', 'controller', 'searxngClient', 'searxng'];
const everywhere = (value: object): object => Object.fromEntries(COMPONENTS.map((name) => [name, value]));
const parts = (name: string): string => (name === 'searxng' ? name : `uswarm-${name}`);

describe('images', () => {
  const digest = `sha256:${'ab'.repeat(32)}`;

  it('use one registry and one tag if they are from this project', async () => {
    const manifests = await render({ ...evaluation, images: { registry: 'localhost', tag: 'dev' } });
    const images = podTemplates(manifests).flatMap((pod) => containersOf(pod).map(({ image }) => image));
    expect([...new Set(images)].toSorted()).toEqual([
      'docker.io/library/postgres:18.4',
      'docker.io/searxng/searxng:2026.9.25-12f8b6515',
      'docker.io/valkey/valkey:9.1.1',
      'localhost/uswarm/orchestrator:dev',
      'localhost/uswarm/realtime-gateway:dev',
      'localhost/uswarm/searxng-client:dev',
      'localhost/uswarm/uswarm-controller:dev',
      'localhost/uswarm/uswarm-webhook:dev',
    ]);
    expect(container(manifests, 'uswarm-webhook', 'webhook').env).toContainEqual({
      name: 'SVC_AGENT_RUNTIME_IMAGE',
      value: 'localhost/uswarm/agent-runtime:dev',
    });
  });

  it('all use the mirror if one is set', async () => {
    const mirror = 'mirror.example.com/all';
    const manifests = await render({ ...evaluation, images: { mirror } });
    const images = podTemplates(manifests).flatMap((pod) => containersOf(pod).map(({ image }) => image));
    expect(images.filter((image) => !image.startsWith(`${mirror}/`))).toEqual([]);
    expect(images).toContain(`${mirror}/library/postgres:18.4`);
    const { env } = container(manifests, 'uswarm-webhook', 'webhook');
    expect(env!.find(({ name }) => name === 'SVC_AGENT_RUNTIME_IMAGE')!.value).toMatch(
      `${mirror}/uswarm/agent-runtime:`,
    );
    // The policy allows the mirrored runtime image.
    expect(find(manifests, 'ConfigMap', 'uswarm-policy')['data'].imagePrefixes).toBe(`${mirror}/uswarm/agent-runtime`);
  });

  it('can be replaced separately, also by digest', async () => {
    const image = { registry: 'r.example.com', repository: 'a/b', tag: '1', digest, pullPolicy: 'Never' };
    const manifests = await render({
      ...everywhere({ image }),
      oidc: evaluation.oidc,
      evaluation: { enabled: true, postgres: { image }, valkey: { image } },
      runtime: { image },
    });
    for (const pod of podTemplates(manifests)) {
      for (const each of containersOf(pod)) {
        expect(each).toMatchObject({ image: `r.example.com/a/b:1@${digest}`, imagePullPolicy: 'Never' });
      }
    }
    const { env } = container(manifests, 'uswarm-webhook', 'webhook');
    expect(env).toContainEqual({ name: 'SVC_AGENT_RUNTIME_IMAGE', value: `r.example.com/a/b:1@${digest}` });
    expect(JSON.parse(env!.find(({ name }) => name === 'RUNTIME_PODS')!.value!)).toMatchObject({
      imagePullPolicy: 'Never',
    });
  });

  it('require a registry, because there is no public one', async () => {
    const nowhere = { ...evaluation, images: {} };
    const ours = ['orchestrator', 'gateway', 'webhook', 'controller', 'searxngClient', 'runtime'];
    const sentence = (paths: string[]): string =>
      `images.registry is required, or each of ${paths.map((path) => `${path}.image.registry`).join(', ')}: ` +
      'the target of `npm run images -- --push <registry>`.';
    expect((await rejection(nowhere)).trim()).toBe(sentence(ours));
    const most = Object.fromEntries(ours.slice(1).map((name) => [name, { image: { registry: 'localhost' } }]));
    expect((await rejection({ ...nowhere, ...most })).trim()).toBe(sentence(['orchestrator']));
  });

  it('cannot use the tag `latest`', async () => {
    expect(await rejection({ ...evaluation, images: { tag: 'latest' } })).toContain('/images/tag');
    expect(await rejection({ ...evaluation, searxng: { image: { tag: 'latest' } } })).toContain('/searxng/image/tag');
  });
});

describe('settings of pods', () => {
  it('apply to all components unless a component overrides them', async () => {
    const manifests = await render({
      ...external,
      defaults: {
        podLabels: { team: 'a', tier: 'b' },
        podAnnotations: { note: 'a' },
        nodeSelector: { pool: 'a' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
        priorityClassName: 'high',
        logLevel: 'warn',
        extraEnv: [{ name: 'TZ', value: 'UTC' }],
      },
      gateway: {
        podLabels: { team: 'g' },
        nodeSelector: { pool: 'g' },
        logLevel: 'debug',
        extraEnv: [{ name: 'TZ', value: 'CET' }],
      },
    });
    for (const { owner, hook, labels, annotations, spec } of podTemplates(manifests)) {
      if (owner === 'uswarm-test') continue;
      const mine = owner === 'uswarm-realtime-gateway';
      expect(labels).toMatchObject({ team: mine ? 'g' : 'a', tier: 'b' });
      expect(annotations).toMatchObject({ note: 'a' });
      expect(spec).toMatchObject({
        nodeSelector: { pool: mine ? 'g' : 'a' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
        priorityClassName: 'high',
      });
      expect(spec.containers[0].env).toContainEqual({ name: 'TZ', value: mine ? 'CET' : 'UTC' });
      if (owner === 'searxng' || hook !== undefined) continue;
      expect(spec.containers[0].env).toContainEqual({ name: 'LOG_LEVEL', value: mine ? 'debug' : 'warn' });
    }
  });

  it('cannot override labels that Services and budgets select', async () => {
    const manifests = await render({ ...external, defaults: { podLabels: { 'app.kubernetes.io/component': 'x' } } });
    for (const { metadata, spec } of manifests.filter(({ kind }) => kind === 'Deployment')) {
      expect({ name: metadata.name, labels: spec.template.metadata.labels }).toEqual({
        name: metadata.name,
        labels: expect.objectContaining(spec.selector.matchLabels),
      });
    }
  });

  it('override a variable without repeating its name', async () => {
    const manifests = await render({ ...external, ...everywhere({ extraEnv: [{ name: 'OPS_PORT', value: '1' }] }) });
    for (const pod of podTemplates(manifests)) {
      for (const { env = [] } of containersOf(pod)) {
        expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
      }
    }
    const { env } = container(manifests, 'uswarm-controller', 'controller');
    expect(env!.filter(({ name }) => name === 'OPS_PORT')).toEqual([{ name: 'OPS_PORT', value: '1' }]);
  });
});

it('a private certificate authority is mounted in every service with outbound calls', async () => {
  const folder = '/etc/uswarm/trusted-ca';
  // The controller calls only the API server, whose CA is mounted with its token. SearXNG is a third-party image.
  const inside = new Set(['uswarm-controller', 'searxng']);
  const values = [
    { existingConfigMap: 'ca', key: 'root.pem' },
    { existingSecret: 'ca', key: 'root.pem' },
  ];
  for (const trustedCA of values) {
    const manifests = await render({ ...external, trustedCA });
    const items = [{ key: 'root.pem', path: 'root.pem' }];
    const source =
      'existingSecret' in trustedCA ? { secret: { secretName: 'ca', items } } : { configMap: { name: 'ca', items } };
    const calling = podTemplates(manifests).filter(({ owner, hook }) => !inside.has(owner) && hook === undefined);
    expect(calling.map(({ owner }) => owner).toSorted()).toEqual(
      ['model-gateway', 'orchestrator', 'realtime-gateway', 'searxng-client', 'webhook'].map(parts),
    );
    for (const pod of calling) {
      expect(pod.spec.volumes).toContainEqual({ name: 'trusted-ca', ...source });
      for (const { env, volumeMounts } of containersOf(pod)) {
        expect(env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: `${folder}/root.pem` });
        expect(volumeMounts).toContainEqual({ name: 'trusted-ca', mountPath: folder, readOnly: true });
      }
    }
  }
  const both = { existingConfigMap: 'a', existingSecret: 'b' };
  expect(await rejection({ ...external, trustedCA: both })).toMatch(
    /^trustedCA\.existingConfigMap and trustedCA\.existingSecret are mutually exclusive\.$/,
  );
});

describe('uploads', () => {
  it('require a bucket without evaluation.enabled', async () => {
    const sentence = 'objectStorage.bucket is required: name the S3 bucket for uploaded files.';
    expect(await rejection({ ...external, objectStorage: {} })).toContain(sentence);
  });

  it('require a bucket with more than one replica', async () => {
    const two = { ...evaluation, orchestrator: { replicas: 2 } };
    expect(await rejection(two)).toMatch(
      /^objectStorage\.bucket is required: with orchestrator\.replicas above 1, .*\.$/m,
    );
    await expect(render({ ...two, objectStorage: { bucket: 'files' } })).resolves.not.toEqual([]);
    const scaled = { ...evaluation, orchestrator: { autoscaling: { enabled: true } } };
    expect(await rejection(scaled)).toMatch(/^objectStorage\.bucket is required: .* orchestrator\.autoscaling, .*\.$/m);
  });
});

describe('the end-to-end bypass', () => {
  it('has a separate entry point that production never starts', async () => {
    const production = container(await render(evaluation), 'uswarm-orchestrator', 'orchestrator');
    expect(production.env!.map(({ name }) => name)).not.toContain('E2E_TOKEN');
    expect(production.env!.map(({ name }) => name)).not.toContain('USWARM_ENV');

    const test = await render({ ...evaluation, nonProduction: { e2eBypass: true } });
    const orchestrator = container(test, 'uswarm-orchestrator', 'orchestrator');
    expect(orchestrator.args).toEqual(['/app/dist/main.nonproduction.js']);
    expect(orchestrator.env).toContainEqual({ name: 'USWARM_ENV', value: 'test' });
    expect(orchestrator.env).toContainEqual({
      name: 'E2E_TOKEN',
      valueFrom: { secretKeyRef: { name: 'uswarm-evaluation', key: 'e2e-token' } },
    });
  });

  it('is rejected with persistent stores unless explicitly accepted', async () => {
    const bypass = (accepted: object): object => ({ ...external, nonProduction: { e2eBypass: true, ...accepted } });
    expect((await rejection(bypass({}))).trim()).toMatch(
      /^nonProduction\.e2eBypass requires evaluation\.enabled: .*nonProduction\.e2eBypassBesideKeptData=true.*\.$/,
    );
    await expect(render(bypass({ e2eBypassBesideKeptData: true }))).resolves.not.toEqual([]);
  });
});
