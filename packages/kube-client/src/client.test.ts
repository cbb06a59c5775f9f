import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createKubeClient, type KubeClient } from './client.js';
import { createCredentials, type Credentials } from './credentials.js';
import { isAlreadyExists, isConflict, isDenied, isGone, isNotFound, isRefusal, KubeError } from './errors.js';
import type { KubernetesObject } from '@uswarm/kube-types';
import type { Resource } from './resource.js';

const DEPLOYMENTS: Resource = { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' };
const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
const IN = '/apis/apps/v1/namespaces/ns/deployments';
const A = { name: 'a', namespace: 'ns' };
const deployment = (metadata: object = {}): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...A, ...metadata },
});

describe('createKubeClient', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let client: KubeClient;
  let wrote: string[];
  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    wrote = [];
    const onWrite = (verb: string, { plural }: Resource): void => void wrote.push(`${verb} ${plural}`);
    client = createKubeClient({ credentials, fieldManager: 'test', onWrite });
  });
  afterEach(async () => {
    await credentials.close();
    await api.close();
  });
  const answer = (respond: (response: ServerResponse) => void) => {
    api.script((_request, response) => {
      respond(response);
      return true;
    });
  };
  const failed = async (call: Promise<unknown>): Promise<unknown> => {
    const { error } = await call.then(
      () => ({ error: undefined }),
      (reason: unknown) => ({ error: reason }),
    );
    return error;
  };

  it.each([
    [401, 'Unauthorized', [isDenied, isRefusal]],
    [403, 'Forbidden', [isDenied, isRefusal]],
    [404, 'NotFound', [isNotFound, isRefusal]],
    [409, 'Conflict', [isConflict, isRefusal]],
    [409, 'AlreadyExists', [isAlreadyExists, isRefusal]],
    [410, 'Expired', [isGone, isRefusal]],
    [422, 'Invalid', [isRefusal]],
    [429, 'TooManyRequests', []],
    [500, 'InternalError', []],
  ])('maps status %d %s to its error predicate', async (status, reason, expected) => {
    const details = { kind: 'deployments', causes: [{ reason: 'FieldValueInvalid' }, {}] };
    answer((response) => response.writeHead(status).end(JSON.stringify({ reason, message: 'no', details })));
    const error = await failed(client.get(DEPLOYMENTS, A));
    const kind = 'deployments';
    expect(error).toMatchObject({
      name: 'KubeError',
      status,
      reason,
      message: 'no',
      causes: ['FieldValueInvalid'],
      kind,
    });
    const kinds = [isAlreadyExists, isConflict, isDenied, isGone, isNotFound, isRefusal];
    expect(kinds.filter((is) => is(error)).map(({ name }) => name)).toEqual(
      kinds.filter((is) => expected.includes(is)).map(({ name }) => name),
    );
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['a response that is not JSON', (response) => response.writeHead(200).end('<html>')],
    ['the error page of a proxy', (response) => response.writeHead(503).end('<html>')],
    ['a connection that breaks', (response) => response.destroy()],
  ])('does not classify %s as a refusal', async (_what, respond) => {
    answer(respond);
    const error = await failed(client.get(DEPLOYMENTS, A));
    expect(error).toBeInstanceOf(Error);
    expect(isRefusal(error)).toBe(false);
  });

  it('retries a busy server after its Retry-After', async () => {
    const busy = [503, 429, 429];
    api.script((_request, response) => {
      const status = busy.pop();
      if (status === undefined) return undefined;
      response.writeHead(status, status === 429 ? { 'retry-after': '0' } : {}).end('{}');
      return true;
    });
    await expect(client.list(NAMESPACES, {})).rejects.toMatchObject({ status: 503 });
    expect(api.requests).toHaveLength(3);
  });

  it('does not retry a busy server beyond the request timeout', async () => {
    answer((response) => response.writeHead(429, { 'retry-after': '60' }).end('{}'));
    const clientWithTimeout = createKubeClient({ credentials, fieldManager: 'test', timeoutMs: 500 });
    expect(await failed(clientWithTimeout.get(DEPLOYMENTS, A))).not.toBeInstanceOf(KubeError);
    expect(api.requests).toHaveLength(1);
  });

  it('times out when the server does not respond', async () => {
    api.script(() => true);
    const clientWithTimeout = createKubeClient({ credentials, fieldManager: 'test', timeoutMs: 50 });
    await expect(clientWithTimeout.get(DEPLOYMENTS, A)).rejects.toThrow('timeout');
  });

  it('aborts when the caller aborts', async () => {
    const controller = new AbortController();
    api.script(() => {
      controller.abort(new Error('enough'));
      return true;
    });
    await expect(client.get(DEPLOYMENTS, A, controller.signal)).rejects.toThrow('enough');
  });

  it('lists whole objects of all namespaces or of one', async () => {
    api.put(IN, deployment());
    expect(await client.get(DEPLOYMENTS, A)).toMatchObject({ kind: 'Deployment', metadata: A });
    api.script(({ path }, response) => {
      if (path !== '/apis/apps/v1/deployments') return undefined;
      const items = [{ metadata: A }];
      response.end(
        JSON.stringify({ apiVersion: 'apps/v1', kind: 'DeploymentList', metadata: { resourceVersion: '7' }, items }),
      );
      return true;
    });
    expect(await client.list(DEPLOYMENTS, { labelSelector: 'a=b', limit: 2, continueToken: 'more' })).toEqual({
      items: [deployment()],
      resourceVersion: '7',
      continueToken: undefined,
    });
    expect(api.requests.at(-1)?.query.toString()).toBe('labelSelector=a%3Db&limit=2&continue=more');
    await expect(client.get(DEPLOYMENTS, { ...A, name: 'b' })).rejects.toMatchObject({ status: 404 });
    expect(wrote).toEqual([]);
  });

  it('applies without force and with its own field manager by default', async () => {
    await client.apply(DEPLOYMENTS, deployment());
    await client.apply(DEPLOYMENTS, deployment(), { force: true, fieldManager: 'other' });
    expect(api.requests.map(({ method, path, query }) => [method, path, query.toString()])).toEqual([
      ['PATCH', `${IN}/a`, 'fieldManager=test&force=false'],
      ['PATCH', `${IN}/a`, 'fieldManager=other&force=true'],
    ]);
    expect(api.requests.map(({ contentType }) => contentType)).toEqual(
      Array.from({ length: 2 }, () => 'application/apply-patch+yaml'),
    );
    expect(wrote).toEqual(['apply deployments', 'apply deployments']);
  });

  it('creates, patches and replaces with its own field manager', async () => {
    const made = await client.create(DEPLOYMENTS, deployment());
    await client.mergePatch(DEPLOYMENTS, A, { spec: { replicas: 2 } });
    await client.replace(DEPLOYMENTS, { ...made, metadata: { ...A }, status: { ready: true } }, 'status');
    expect(api.get(IN, 'a')).toMatchObject({ spec: { replicas: 2 }, status: { ready: true } });
    answer((response) => response.end(JSON.stringify(made)));
    await client.jsonPatch(DEPLOYMENTS, A, [{ op: 'remove', path: '/spec' }]);
    expect(api.requests.map(({ method, path, contentType }) => [method, path, contentType])).toEqual([
      ['POST', IN, 'application/json'],
      ['PATCH', `${IN}/a`, 'application/merge-patch+json'],
      ['PUT', `${IN}/a/status`, 'application/json'],
      ['PATCH', `${IN}/a`, 'application/json-patch+json'],
    ]);
    expect(new Set(api.requests.map(({ query }) => query.get('fieldManager')))).toEqual(new Set(['test']));
    expect(wrote).toEqual(['create', 'patch', 'update', 'patch'].map((verb) => `${verb} deployments`));
  });

  it('deletes only the observed uid and returns the remaining object', async () => {
    const { metadata } = api.put(IN, deployment({ uid: 'u' }));
    const { resourceVersion = '' } = metadata;
    const options = { uid: 'u', propagation: 'Foreground' } as const;
    await expect(client.delete(DEPLOYMENTS, A, { ...options, uid: 'earlier' })).rejects.toMatchObject({ status: 409 });
    await expect(client.delete(DEPLOYMENTS, A, { ...options, resourceVersion: '1' })).rejects.toMatchObject({
      status: 409,
    });
    const left = await client.delete(DEPLOYMENTS, A, { ...options, resourceVersion });
    expect(left?.metadata).toMatchObject({ finalizers: ['foregroundDeletion'] });
    expect(api.requests.at(-1)?.body).toEqual({
      preconditions: { uid: 'u', resourceVersion },
      propagationPolicy: 'Foreground',
    });
    api.put(IN, deployment({ name: 'b', uid: 'v' }));
    const gone = client.delete(DEPLOYMENTS, { ...A, name: 'b' }, { uid: 'v', propagation: 'Background' });
    expect(await gone).toBeUndefined();
  });
});
