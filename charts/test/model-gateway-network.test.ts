import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  connects,
  gatewayRuntime,
  leaves,
  type NetworkPod,
  podOf,
  podsOf,
  policiesOf,
  PRIVATE,
  PUBLIC,
  runtime,
  unrelatedPod,
} from './support/network-model.js';
import { evaluation, type Manifest, modelProvider, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const VALUES = { ...evaluation, ...modelProvider };

let withGateway: Manifest[];
beforeAll(async () => {
  withGateway = await render(VALUES);
});

it('network policies connect a model gateway with runtimes and the orchestrator', () => {
  const policies = policiesOf(withGateway);
  const others = [...podsOf(withGateway), runtime(), { ...gatewayRuntime(), name: 'userswarms/gateway-runtime' }];
  const gateway = podOf(withGateway, 'uswarm-model-gateway');
  const callers = others.filter((pod) => pod.name !== gateway.name && connects(policies, pod, gateway, 8080));
  expect(callers.map(({ name }) => name).toSorted()).toEqual([
    'userswarms/gateway-runtime',
    'userswarms/runtime',
    'uswarm-test',
  ]);
  const reached = others.flatMap((to) =>
    Object.values(to.ports).flatMap((port) =>
      to.name !== gateway.name && connects(policies, gateway, to, port) ? [`${to.name}:${port}`] : [],
    ),
  );
  expect(reached).toEqual(['uswarm-orchestrator:8082']);
  for (const from of [runtime(), gatewayRuntime()]) {
    expect(connects(policies, from, podOf(withGateway, 'uswarm-orchestrator'), 8082)).toBe(false);
    expect(connects(policies, from, podOf(withGateway, 'uswarm-searxng-client'), 8080)).toBe(true);
  }
});

it('network policies let the orchestrator send recordings, and the gateway reach the port of their server', async () => {
  const transcription = { model: 'whisper-1', baseUrl: 'https://speech.example.com:8443/v1' };
  const manifests = await render(merge(VALUES, { modelGateway: { transcription } }));
  const gateway = podOf(manifests, 'uswarm-model-gateway');
  const reaches = (from: Manifest[]) =>
    connects(policiesOf(from), podOf(from, 'uswarm-orchestrator'), podOf(from, 'uswarm-model-gateway'), 8080);
  expect({ without: reaches(withGateway), with: reaches(manifests) }).toEqual({ without: false, with: true });
  expect(leaves(policiesOf(manifests), gateway, '1.1.1.1', 8443)).toBe(true);
});

describe('egress with a model gateway', () => {
  const open = async (pod: NetworkPod, changes: object = {}): Promise<number[]> => {
    const policies = policiesOf(await render(merge(VALUES, changes)));
    return [25, 80, 443, 6432, 8000].filter((port) => leaves(policies, pod, '1.1.1.1', port));
  };
  const rules = (egressAllowRules: object): object => ({ networkPolicy: { runtime: { egressAllowRules } } });

  it('reaches no address from a runtime that uses it, by default', async () => {
    expect(await open(gatewayRuntime())).toEqual([]);
    for (const address of [...PRIVATE, ...PUBLIC]) {
      expect(leaves(policiesOf(withGateway), gatewayRuntime(), address, 443)).toBe(false);
    }
  });

  it('reaches the stores from a runtime that uses it, and the internet only if it is allowed', async () => {
    const database = { host: 'db', port: 6432, name: 'n', user: 'u' };
    expect(await open(gatewayRuntime(), { runtime: { stores: { existingSecret: 's', database } } })).toEqual([6432]);
    expect(await open(gatewayRuntime(), rules({ nonPrivateIPs: true }))).toEqual([443]);
    expect(await open(gatewayRuntime(), rules({ nonPrivateIPs: true, nonPrivatePorts: [80] }))).toEqual([80]);
  });

  it('still reaches a provider from a runtime with a Secret or of an earlier release', async () => {
    expect(await open(runtime())).toEqual([443]);
    expect(await open(runtime(), rules({ nonPrivatePorts: [8000] }))).toEqual([8000]);
    expect(await open(runtime(), rules({ nonPrivateIPs: false }))).toEqual([]);
    expect(PRIVATE.filter((address) => leaves(policiesOf(withGateway), runtime(), address, 443))).toEqual([]);
  });

  it('reaches the providers from the gateway', async () => {
    const gateway = podOf(withGateway, 'uswarm-model-gateway');
    expect(await open(gateway)).toEqual([443]);
    const baseUrl = 'http://models.example.com:8000/v1';
    expect(await open(gateway, { modelGateway: { openai: { baseUrl } } })).toEqual([443, 8000]);
    const egressAllowRules = {
      nonPrivateIPs: false,
      inCluster: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'models' } }, ports: [8080] }],
    };
    const own = merge(VALUES, { networkPolicy: { modelGateway: { egressAllowRules } } });
    const policies = policiesOf(await render(own));
    expect(leaves(policies, gateway, '1.1.1.1', 443)).toBe(false);
    expect(connects(policies, gateway, unrelatedPod('models'), 8080)).toBe(true);
    expect(connects(policies, gatewayRuntime(), unrelatedPod('models'), 8080)).toBe(false);
  });
});
