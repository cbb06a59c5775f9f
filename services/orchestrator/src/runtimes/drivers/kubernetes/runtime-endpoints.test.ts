import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { type RuntimeEndpoints, watchRuntimeEndpoints } from './runtime-endpoints.js';

const COLLECTION = '/apis/discovery.k8s.io/v1/namespaces/userswarms/endpointslices';
const NAME = 'workspace-a';
const READY = { addresses: ['10.0.0.1'], conditions: { ready: true, serving: true, terminating: false } };
const STARTING = { addresses: ['10.0.0.2'], conditions: { ready: false, serving: false, terminating: false } };
const TERMINATING = { addresses: ['10.0.0.3'], conditions: { ready: false, serving: true, terminating: true } };

describe('the endpoints of runtimes', () => {
  let server: ScriptedApi;
  let credentials: Credentials;
  let endpoints: RuntimeEndpoints;
  let found: string[];

  beforeEach(async () => {
    server = await startScriptedApi();
    credentials = await createCredentials(server.config);
    found = [];
    endpoints = watchRuntimeEndpoints({
      client: createKubeClient({ credentials, fieldManager: 'test' }),
      watch: createWatch(credentials),
      namespace: 'userswarms',
      onAddress: (userSwarm) => void found.push(userSwarm),
      timing: { watchS: 25, silenceMs: 30_000, backoff: { initialMs: 5, maxMs: 20 } },
      logger: silentLogger,
    });
    await eventually(() => server.watches() === 1);
  });
  afterEach(async () => {
    await endpoints.close();
    await credentials.close();
    await server.close();
  });

  const put = (slice: object, { name = `agent-runtime-${NAME}-x`, userSwarm = NAME } = {}): void =>
    void server.put(COLLECTION, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name,
        namespace: 'userswarms',
        labels: {
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          'app.kubernetes.io/managed-by': 'uswarm-controller',
          'app.kubernetes.io/instance': userSwarm,
        },
      },
      ports: [{ name: 'grpc', port: 42618 }],
      ...slice,
    });
  /** Waits until all earlier slices are known. */
  const known = async (): Promise<void> => {
    put({ endpoints: [STARTING] }, { name: 'last', userSwarm: 'workspace-last' });
    await eventually(() => found.includes('workspace-last'));
  };

  it.each([
    ['of a pod that is not ready', { endpoints: [STARTING] }, 'http://10.0.0.2:42618'],
    ['of a pod that is ready', { endpoints: [READY] }, 'http://10.0.0.1:42618'],
    ['of the pod that replaces one that shuts down', { endpoints: [TERMINATING, STARTING] }, 'http://10.0.0.2:42618'],
    ['with an IPv6 address', { endpoints: [{ addresses: ['fd00::1'] }] }, 'http://[fd00::1]:42618'],
    ['of two pods', { endpoints: [READY, STARTING] }, undefined],
    ['of a pod that shuts down', { endpoints: [TERMINATING] }, undefined],
    ['without pods', { endpoints: null, ports: null }, undefined],
    ['without a port', { endpoints: [STARTING], ports: null }, undefined],
  ])('have the address of the only running pod: %s', async (_what, slice, address) => {
    put(slice);
    await known();
    expect(endpoints.addressOf(NAME)).toBe(address);
    expect(endpoints.addressOf('workspace-b')).toBeUndefined();
    expect(found.filter((name) => name === NAME)).toHaveLength(address === undefined ? 0 : 1);
  });

  it('report an address once, and each new one', async () => {
    put({ endpoints: [STARTING] });
    put({ endpoints: [{ ...STARTING, conditions: { ready: true } }] });
    put({ endpoints: [{ ...STARTING, conditions: { terminating: true } }] });
    put({ endpoints: [READY] });
    await known();
    expect(found).toEqual([NAME, NAME, 'workspace-last']);
  });

  it('have one address for a Service with two slices', async () => {
    put({ endpoints: [STARTING] });
    put({ endpoints: [{ addresses: ['fd00::1'] }] }, { name: 'second' });
    await known();
    expect(endpoints.addressOf(NAME)).toBe('http://10.0.0.2:42618');
  });

  it('are unknown while the permission to read them is missing', async () => {
    put({ endpoints: [STARTING] });
    await known();
    server.script(({ path }, response) => {
      if (!path.startsWith(COLLECTION)) return undefined;
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden' }));
      return true;
    });
    server.endWatches('disconnect');
    const address = () => endpoints.addressOf(NAME) ?? 'unknown';
    expect(await eventually(address, { until: (seen) => seen === 'unknown' })).toBe('unknown');
  });
});
