import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTools, loadSettings } from '../support/index.js';
import {
  type AdmissionOfChildren,
  openAdmissionOfChildren,
  podOf,
  type Pod,
  specOf,
} from '../support/admission-children.js';

/** Values that set every field in a runtime pod. */
const ALL_SETTINGS = {
  name: 'e2e-admission-all',
  runtime: {
    trustedCA: { existingConfigMap: 'company-ca', key: 'company.pem' },
    proxy: { https: 'http://proxy.test:3128', http: 'http://proxy.test:3128', noProxy: ['.test'] },
    secretRevision: '2026-11-22',
    terminationGracePeriodSeconds: 60,
    stores: {
      existingSecret: 'stores',
      database: { host: 'db.test', name: 'agents$1', user: 'agents' },
      redis: { addr: 'redis.test:6379' },
      spaces: { endpoint: 'https://s3.test', region: 'r', bucket: 'b' },
    },
    pods: {
      imagePullSecrets: [{ name: 'registry' }],
      imagePullPolicy: 'Always',
      nodeSelector: { pool: 'agents', 'node-role.test/agents': '' },
      tolerations: [
        { key: 'agents', operator: 'Exists', value: '' },
        { key: 'slow', operator: 'Equal', value: 'yes', effect: 'NoExecute', tolerationSeconds: 60 },
      ],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 5,
              podAffinityTerm: { topologyKey: 'zone', labelSelector: { matchLabels: { team: 'a' } } },
            },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { a: 'b' } },
        },
      ],
      priorityClassName: 'low',
      runtimeClassName: 'gvisor',
      hostUsers: false,
      resources: { requests: { cpu: 0.5, memory: '1024Mi' }, limits: { cpu: 2, memory: '1Gi' } },
      labels: { team: 'a', empty: '' },
      annotations: { 'note.test/a': 'a "quoted" text' },
      extraEnv: [
        { name: 'TZ', value: 'UTC' },
        { name: 'EMPTY', value: '' },
        { name: 'LINES', value: 'a\n\t$(b) \\ "c" <é>' },
      ],
    },
  },
  values: {
    modelGateway: { openai: { enabled: true, model: 'm' } },
    secrets: { modelProviders: { existingSecret: 'model-providers', openai: 'OPENAI_API_KEY' } },
  },
};

describe('a Deployment of a release with all settings of runtimes', () => {
  let configured: AdmissionOfChildren;
  beforeAll(async () => {
    configured = await openAdmissionOfChildren(createTools(loadSettings()), ALL_SETTINGS);
  });
  afterAll(() => configured?.close());

  it.each([
    ['the model gateway', {}],
    ['its own Secret', { config: { envSecretRef: { name: 'uswarm-model-env' } } }],
  ])('is accepted as the webhook renders it, with %s', async (_what, spec) => {
    const { Deployment } = await configured.rendered(spec);
    expect(await configured.refusal(Deployment)).toBeUndefined();
  });

  it.each<[string, (pod: Pod) => void, RegExp]>([
    ['the sandbox', (pod) => void delete pod['runtimeClassName'], /missing: runtimeClassName/],
    ['the user namespace', (pod) => void delete pod['hostUsers'], /missing: hostUsers/],
    ['the node pool', (pod) => void delete pod['nodeSelector'], /missing: nodeSelector/],
    ['the toleration', (pod) => void (pod['tolerations'] = [{ operator: 'Exists' }]), /these fields/],
    ['the proxy', setVariableOf('HTTPS_PROXY', 'http://evil.test'), /has variables/],
    ['the model gateway', setVariableOf('MODEL_GATEWAY_URL', 'http://evil.test'), /has variables/],
    ['a variable of the operator', setVariableOf('TZ', 'Europe/Berlin'), /has variables/],
  ])('is rejected without %s', async (_what, change, error) => {
    const { Deployment } = await configured.rendered({});
    change(podOf(Deployment));
    expect(await configured.refusal(Deployment)).toMatch(error);
  });

  it('is rejected without the label that closes the internet for it', async () => {
    const { Deployment } = await configured.rendered({});
    delete specOf(Deployment).template.metadata.labels['uswarm.dev/model-access'];
    expect(await configured.refusal(Deployment)).toMatch(/labels and annotations/);
  });
});

function setVariableOf(name: string, value: string): (pod: Pod) => void {
  return ({ containers: [container] }) => {
    container!.env.find((variable) => variable.name === name)!.value = value;
  };
}
