import { describe, expect, it } from '@jest/globals';
import { evaluation, external, find, modelProvider, ofKind, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const installed = { ...evaluation, ...modelProvider };
const named = async (values: object): Promise<string[]> =>
  (await render(values))
    .filter(({ metadata }) => metadata.name === 'uswarm-model-gateway')
    .map(({ kind }) => kind)
    .toSorted();

describe('the model gateway', () => {
  it('is deployed only if a provider is enabled', async () => {
    const kinds = ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service', 'ServiceAccount'];
    expect(await named(installed)).toEqual(kinds);
    expect(
      await named({ ...evaluation, modelGateway: { anthropic: { enabled: true, model: 'a', baseUrl: 'http://m' } } }),
    ).toEqual(kinds);
    expect(await named(evaluation)).toEqual([]);
    expect(await named({ ...evaluation, runtime: { modelEnv: { existingSecret: 'keys' } } })).toEqual([]);
  });

  it('has two replicas, which are replaced one at a time', async () => {
    const { replicas, strategy } = find(await render(installed), 'Deployment', 'uswarm-model-gateway')['spec'];
    expect({ replicas, strategy }).toEqual({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
  });

  it('has the longest grace period of all services, for running calls', async () => {
    const grace = ofKind(await render(installed), 'Deployment').map(({ metadata, spec }) => ({
      name: metadata.name,
      seconds: spec.template.spec.terminationGracePeriodSeconds as number,
    }));
    expect(grace.toSorted((a, b) => b.seconds - a.seconds)[0]).toEqual({ name: 'uswarm-model-gateway', seconds: 135 });
  });

  it('needs an image registry only if it is deployed', async () => {
    const { registry } = evaluation.images;
    const own = { image: { registry } };
    const services = ['orchestrator', 'gateway', 'webhook', 'controller', 'searxngClient', 'runtime'];
    const each = { images: { registry: '' }, ...Object.fromEntries(services.map((name) => [name, own])) };
    await expect(render(merge(evaluation, each))).resolves.not.toEqual([]);
    expect(await rejection(merge(installed, each))).toContain('modelGateway.image.registry');
  });

  it('does not change what other components receive if it has no providers', async () => {
    const text = JSON.stringify(ofKind(await render(evaluation), 'Deployment'));
    expect(text).not.toMatch(/MODEL_GATEWAY_URL|MODEL_TOKEN_SIGNING_KEY|OPENAI_|uswarm-model-gateway/);
  });
});

describe('an upgrade to the model gateway', () => {
  it('still allows the Secret of runtimes that have not been idle since, but passes it to no others', async () => {
    const manifests = await render({ ...installed, runtime: { modelEnv: { existingSecret: 'keys' } } });
    expect(find(manifests, 'ConfigMap', 'uswarm-policy')['data'].sharedEnvSecrets).toBe('keys');
    const { env } = find(manifests, 'Deployment', 'uswarm-orchestrator')['spec'].template.spec.containers[0];
    expect(env).toContainEqual({ name: 'RUNTIME_ENV_SECRET', value: '' });
  });
});

describe('values that cannot work', () => {
  interface Replaced {
    secrets?: object;
    modelGateway?: object;
    runtime?: object;
  }
  /** Values for an installation with other parts of `secrets`, `modelGateway` and `runtime`. */
  const replaced = ({ secrets = {}, modelGateway, runtime = {} }: Replaced): object => ({
    ...external,
    runtime,
    secrets: { ...external.secrets, ...secrets },
    modelGateway: modelGateway ?? external.modelGateway,
  });

  it.each<[string, Replaced, RegExp]>([
    [
      'no provider',
      { modelGateway: { openai: { enabled: false } } },
      /^A model provider is required: .*modelEnv\.enabled=false/,
    ],
    [
      'a provider without a key or a base URL',
      { secrets: { modelProviders: {} } },
      /^secrets\.modelProviders\.existingSecret and its key openai are required: .* in namespace backend\.$/,
    ],
    [
      'a provider whose key has no name',
      { secrets: { modelProviders: { existingSecret: 'keys', openai: '' } } },
      /^secrets\.modelProviders\.existingSecret and its key openai are required: /,
    ],
    [
      'a provider without models',
      { modelGateway: { openai: { enabled: true, models: { flash: 'a' } } } },
      /^modelGateway\.openai\.model is required, or all of modelGateway\.openai\.models: /,
    ],
    [
      'a default provider that the gateway does not have',
      { runtime: { defaultProvider: 'anthropic' } },
      /^runtime\.defaultProvider must not be anthropic: modelGateway enables only openai\.$/,
    ],
    [
      'a base URL with a password',
      { modelGateway: { openai: { enabled: true, model: 'a', baseUrl: 'https://u:p@m' } } },
      /modelGateway\/openai\/baseUrl/,
    ],
    [
      'a grace period without time for calls',
      { modelGateway: { ...external.modelGateway, terminationGracePeriodSeconds: 10 } },
      /terminationGracePeriodSeconds/,
    ],
  ])('are rejected: %s', async (_what, values, sentence) => {
    expect((await rejection(replaced(values))).trim()).toMatch(sentence);
  });

  it('do not include a provider without a key that has a base URL', async () => {
    const manifests = await render({
      ...evaluation,
      modelGateway: { openai: { enabled: true, model: 'a', baseUrl: 'http://llm.models.svc:8000/v1' } },
    });
    const { env } = find(manifests, 'Deployment', 'uswarm-model-gateway')['spec'].template.spec.containers[0];
    expect((env as { name: string }[]).map(({ name }) => name)).not.toContain('OPENAI_API_KEY');
    expect(env).toContainEqual({ name: 'OPENAI_BASE_URL', value: 'http://llm.models.svc:8000/v1' });
  });

  it('do not include the demo model or a provider of another runtime as the default', async () => {
    for (const defaultProvider of ['demo', 'openai', 'mine']) {
      const { env } = find(await render(replaced({ runtime: { defaultProvider } })), 'Deployment', 'uswarm-webhook')[
        'spec'
      ].template.spec.containers[0];
      expect(env).toContainEqual({ name: 'MODEL_PROVIDER', value: defaultProvider });
    }
  });

  it('do not include a default model as the only name', async () => {
    const values = { ...external, modelGateway: { openai: { enabled: true } }, runtime: { defaultModel: 'model-b' } };
    const { env } = find(await render(values), 'Deployment', 'uswarm-model-gateway')['spec'].template.spec
      .containers[0];
    expect(env).toContainEqual({ name: 'USWARM_DEFAULT_MODEL', value: 'model-b' });
  });
});
