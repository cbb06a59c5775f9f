import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Failure } from '../../failure.js';
import { explain } from './explain.js';

const SWARM = '/apis/uswarm.dev/v1alpha1/userswarms/workspace-a';
const PODS = '/api/v1/namespaces/userswarms/pods';
const DEPLOYMENTS = '/apis/apps/v1/deployments';
const swarm = {
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-a', generation: 1, creationTimestamp: '2026-11-21T10:00:00Z' },
  spec: { userId: 'ada', placement: { runtimeNamespace: 'userswarms' }, runtime: { port: 1 }, suspend: false },
};
const deployment = (component: string, readyReplicas: number) => ({
  metadata: {
    name: `uswarm-${component}`,
    namespace: 'backend',
    labels: { 'app.kubernetes.io/component': component },
  },
  spec: { replicas: 1 },
  status: { readyReplicas },
});

describe('uswarmctl explain', () => {
  let folder: string;
  let server: Server;
  let requests: string[];
  /** Responses by path. A number is an error status; other paths return 404. */
  let responses: Record<string, object | number>;
  let notFound: object | string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-explain-'));
    requests = [];
    notFound = { kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' };
    responses = {
      [SWARM]: swarm,
      [DEPLOYMENTS]: list([deployment('controller', 1), deployment('webhook', 0)]),
    };
    server = createServer((request, response) => {
      const { pathname, search } = new URL(request.url ?? '/', 'http://x');
      requests.push(decodeURIComponent(pathname + search).replaceAll('+', ' '));
      const body = responses[pathname];
      if (typeof body === 'number') {
        response.writeHead(body).end(JSON.stringify({ kind: 'Status', code: body, message: `denied: ${pathname}` }));
      } else if (body === undefined) {
        response.writeHead(404).end(typeof notFound === 'string' ? notFound : JSON.stringify(notFound));
      } else response.writeHead(200).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await useCluster();
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  const list = (items: object[]): object => ({
    kind: 'List',
    apiVersion: 'v1',
    metadata: { resourceVersion: '1' },
    items,
  });
  const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const useCluster = async (): Promise<void> => {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: address(), 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 'secret-token' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    };
    await writeFile(join(folder, 'config'), JSON.stringify(config));
  };
  const run = (options: { context?: string; kubeconfig?: string } = {}) =>
    explain(
      {
        name: 'explain',
        swarm: 'workspace-a',
        namespace: undefined,
        kubeconfig: join(folder, 'config'),
        context: undefined,
        ...options,
      },
      {},
      new Date('2026-11-21T10:05:00Z'),
    );

  it('lists the last failed turns with their traces if it can ask the orchestrator', async () => {
    const asked: unknown[] = [];
    const failed = { id: 't-1', age_s: 90, error_code: 'model_timeout', trace_id: 'a'.repeat(32) };
    const call = (async (_name: string, body: unknown) => {
      asked.push(body);
      return { turns: [failed] };
    }) as never;
    const command = { name: 'explain', swarm: 'workspace-a', kubeconfig: join(folder, 'config'), context: undefined };
    const { json, text } = await explain(command as never, {}, new Date('2026-11-21T10:05:00Z'), { call });
    expect(asked).toEqual([{ status: 'failed', workspace_id: 'a', older_than_s: 0, limit: 5 }]);
    expect(json.failed_turns).toEqual([{ id: 't-1', age_s: 90, error: 'model_timeout', trace_id: 'a'.repeat(32) }]);
    expect(text).toMatch(/Failed turns, newest first\n +TURN .*TRACE\n +t-1 .*model_timeout +a{32}/);
  });

  it('explains the runtime although the orchestrator is down', async () => {
    const call = () => Promise.reject(new Failure('The orchestrator is unreachable.'));
    const command = { name: 'explain', swarm: 'workspace-a', kubeconfig: join(folder, 'config'), context: undefined };
    const { json } = await explain(command as never, {}, new Date('2026-11-21T10:05:00Z'), { call });
    expect({ phase: json.phase, failed: json.failed_turns, unreadable: json.unreadable }).toMatchObject({
      phase: 'Pending',
      failed: null,
      unreadable: [{ what: 'Failed turns', why: 'The orchestrator is unreachable.' }],
    });
  });

  it('reads the UserSwarm, its children, and the Deployments that manage it', async () => {
    responses[PODS] = list([{ metadata: { name: 'agent-1', namespace: 'userswarms' } }]);
    responses['/apis/coordination.k8s.io/v1/namespaces/backend/leases/uswarm-controller'] = {
      metadata: { name: 'uswarm-controller', namespace: 'backend' },
      spec: { holderIdentity: 'uswarm-controller-1', renewTime: '2026-11-21T10:04:58.000000Z' },
    };
    const { json, text } = await run();
    expect(json).toMatchObject({
      name: 'workspace-a',
      workspace_id: 'a',
      user_id: 'ada',
      phase: 'Pending',
      age_s: 300,
    });
    expect(json.sync).toMatchObject({
      framework: 'builtin',
      controller: { name: 'backend/uswarm-controller', ready: 1, wanted: 1 },
      webhook: { name: 'backend/uswarm-webhook', ready: 0, wanted: 1 },
      leader: { holder: 'uswarm-controller-1', renewed_s_ago: 2 },
    });
    expect(requests).toEqual(
      expect.arrayContaining([
        expect.stringContaining(
          `${PODS}?labelSelector=app.kubernetes.io/name=agent-runtime,app.kubernetes.io/instance=workspace-a`,
        ),
        expect.stringContaining(
          '/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=UserSwarm,involvedObject.name=workspace-a',
        ),
        expect.stringContaining(
          '/api/v1/namespaces/userswarms/events?fieldSelector=involvedObject.kind=Pod,involvedObject.name=agent-1',
        ),
      ]),
    );
    expect(text).toContain('- Deployment backend/uswarm-webhook has no ready pod');
    expect(text).not.toContain('secret-token');
  });

  it('lists the objects that it is not allowed to read and continues', async () => {
    responses[PODS] = 403;
    responses[DEPLOYMENTS] = 403;
    const { json, text } = await run();
    expect(json.unreadable.map(({ what }) => what)).toEqual(['Pods', 'Deployments of uswarm']);
    expect(text).toContain(`Pods: denied: ${PODS}`);
    expect(text).not.toContain('No controller manages');
  });

  it('recognizes Metacontroller as the framework', async () => {
    responses[DEPLOYMENTS] = list([deployment('webhook', 1)]);
    responses['/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/userswarm-controller'] = {
      metadata: { name: 'userswarm-controller' },
    };
    const { json, text } = await run();
    expect(json.sync.framework).toBe('metacontroller');
    expect(text).toContain('controller: Metacontroller');
  });

  it.each<[string, () => void, RegExp]>([
    [
      'the UserSwarm does not exist',
      () => delete responses[SWARM],
      /^UserSwarm workspace-a not found\. .*workspace show/,
    ],
    [
      'the CRD is not installed',
      () => {
        delete responses[SWARM];
        notFound = '404 page not found';
      },
      /^The CRD UserSwarm is not installed/,
    ],
    ['access is denied', () => (responses[SWARM] = 403), /^You are not allowed to read UserSwarms: denied/],
    [
      'the credentials are rejected',
      () => (responses[SWARM] = 401),
      /^The cluster rejected the credentials of the kubeconfig\.$/,
    ],
    ['the API server fails', () => (responses[SWARM] = 500), /^The API server returned 500: denied/],
  ])('fails with one sentence when %s', async (_what, prepare, sentence) => {
    prepare();
    await expect(run()).rejects.toThrow(sentence);
    await expect(run()).rejects.toHaveProperty('constructor.name', 'Failure');
  });

  it('fails with one sentence when the cluster is unknown or unreachable', async () => {
    await expect(run({ context: 'other' })).rejects.toThrow(/^No cluster selected: context "other" does not exist/);
    await expect(run({ kubeconfig: join(folder, 'missing') })).rejects.toThrow(
      /^No cluster selected: KUBECONFIG cannot be used/,
    );
    const url = address();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(run()).rejects.toThrow(`The API server ${url} is unreachable (ECONNREFUSED).`);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
});
