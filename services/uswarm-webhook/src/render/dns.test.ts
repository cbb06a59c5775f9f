import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-types';
import { syncRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { runtimePods } from '../config/runtime-pods.js';
import { preservedTemplate } from './preserved-children.js';
import { render } from './render.js';
import type { RenderSettings } from './settings.js';

const hostAliases = [
  { ip: '10.96.0.11', hostnames: ['gateway.test'] },
  { ip: 'fd00::12', hostnames: ['search.test'] },
];
const modelGateway = { url: 'http://gateway.test:8080', provider: 'openai' };
const closed = testSettings({ modelGateway, pods: runtimePods.parse({ hostAliases }) });
const withSecret = { envSecretRef: { name: 'workspace-a-env' } };

interface Template {
  metadata: { labels: Record<string, string> };
  spec: Record<string, unknown>;
}
async function template(settings: RenderSettings, config: object = {}): Promise<Template> {
  const { children } = render(syncRequest(userSwarm({ config })), settings, await testFacts());
  const deployment = children.find(({ kind }) => kind === 'Deployment') as KubernetesObject;
  return (deployment['spec'] as { template: Template }).template;
}

describe('a runtime whose Services have known addresses', () => {
  it('resolves nothing but these if it uses the model gateway', async () => {
    const { metadata, spec } = await template(closed);
    expect(spec).toMatchObject({ dnsPolicy: 'None', dnsConfig: { nameservers: ['127.0.0.1'] }, hostAliases });
    expect(metadata.labels['uswarm.dev/dns']).toBe('none');
  });

  it('uses DNS if it calls its provider itself', async () => {
    const same = testSettings({ modelGateway });
    expect(await template(closed, withSecret)).toEqual(await template(same, withSecret));
    const direct = testSettings({ pods: closed.pods });
    expect(await template(direct)).toEqual(await template(testSettings()));
  });

  it('keeps its addresses when its spec can no longer be rendered', async () => {
    const { spec } = await template(closed);
    expect(preservedTemplate({ spec }).spec).toEqual(spec);
  });
});

it('a runtime uses DNS by default, and its Deployment does not take over the policy of the API server', async () => {
  const { metadata, spec } = await template(testSettings({ modelGateway }));
  expect(metadata.labels).not.toHaveProperty('uswarm.dev/dns');
  for (const field of ['dnsPolicy', 'dnsConfig', 'hostAliases']) expect(spec).not.toHaveProperty(field);
  const stored = { ...spec, dnsPolicy: 'ClusterFirst' };
  expect(preservedTemplate({ spec: stored }).spec).toEqual(spec);
});
