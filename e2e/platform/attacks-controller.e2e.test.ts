import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTools, loadSettings } from '../support/index.js';
import {
  type AdmissionOfChildren,
  openAdmissionOfChildren,
  type RenderedChildren,
} from '../support/admission-children.js';
import { attackTitle } from '../support/attack.js';
import { CONTROLLER_ATTACKS, DNS_ATTACKS } from '../support/attacks/controller.js';
import { WEBHOOK_CHILDREN } from '../support/attacks/webhook.js';

// The chart's policies for a release that is not installed; the tests impersonate the ServiceAccount of its controller.
const NAME = 'e2e-admission-pods';

let admission: AdmissionOfChildren;
beforeAll(async () => {
  admission = await openAdmissionOfChildren(createTools(loadSettings()), {
    name: NAME,
    runtime: { trustedCA: { existingConfigMap: 'company-ca' }, sharedEnvSecrets: ['uswarm-model-env'] },
  });
});
afterAll(() => admission?.close());

describe('a child that the controller writes', () => {
  it.each<keyof RenderedChildren>(['Deployment', 'Service', 'ServiceAccount'])(
    'is accepted as the webhook renders it: %s',
    async (kind) => {
      expect(await admission.refusal(admission.children[kind])).toBeUndefined();
    },
  );

  it('is accepted with a shared Secret', async () => {
    const { Deployment } = await admission.rendered({ config: { envSecretRef: { name: 'uswarm-model-env' } } });
    expect(await admission.refusal(Deployment)).toBeUndefined();
  });

  it('is accepted with every field of a spec', async () => {
    const { Deployment } = await admission.rendered({
      runtime: { port: 5000, resources: { requests: { cpu: '2' }, limits: { cpu: '8', memory: '16Gi' } } },
      config: { defaultProvider: 'demo', defaultModel: 'flash' },
    });
    expect(await admission.refusal(Deployment)).toBeUndefined();
  });
});

describe('an attack', () => {
  it.each([...CONTROLLER_ATTACKS, ...WEBHOOK_CHILDREN].map((row) => [attackTitle(row), row] as const))(
    '%s',
    async (_title, { attempt, error }) => {
      expect(await admission.refusal(attempt(admission.children))).toMatch(error);
    },
  );
});

it('accepts any Deployment that an administrator writes in a runtime namespace', async () => {
  const foreign = CONTROLLER_ATTACKS.find(({ tries }) => tries === 'runs a foreign image')!;
  expect(await admission.refusal(foreign.attempt(admission.children), 'administrator')).toBeUndefined();
});

describe('an attack on a runtime without DNS', () => {
  let closed: AdmissionOfChildren;
  let children: RenderedChildren;
  beforeAll(async () => {
    closed = await openAdmissionOfChildren(createTools(loadSettings()), {
      name: 'e2e-admission-dns',
      runtime: { dns: { enabled: false } },
      values: {
        modelGateway: {
          clusterIP: '10.96.0.11',
          openai: { enabled: true, baseUrl: 'https://models.test/v1', model: 'a' },
        },
        searxngClient: { clusterIP: '10.96.0.12' },
      },
    });
    children = await closed.rendered({});
  });
  afterAll(() => closed?.close());

  it('is not mistaken for the Deployment that the webhook renders', async () => {
    expect(await closed.refusal(children.Deployment)).toBeUndefined();
  });

  it('leaves DNS to a runtime with a Secret', async () => {
    expect(await closed.refusal(closed.children.Deployment)).toBeUndefined();
  });

  it.each(DNS_ATTACKS.map((row) => [attackTitle(row), row] as const))('%s', async (_title, { attempt, error }) => {
    expect(await closed.refusal(attempt(children))).toMatch(error);
  });
});
