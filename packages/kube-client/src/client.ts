import { setTimeout as sleep } from 'node:timers/promises';
import { parseJson, startDeadline } from '@uswarm/service-kit';
import { request } from 'undici';
import type { Credentials } from './credentials.js';
import { KubeError, type StatusAnswer } from './errors.js';
import type { KubernetesObject } from '@uswarm/kube-types';
import { type ObjectName, type Resource, resourcePath } from './resource.js';

/**
 * A client for all requests to the API server except watches. Each call has a deadline.
 *
 * @throws KubeError for an error response, else a connection error
 */
export interface KubeClient {
  get(resource: Resource, name: ObjectName, signal?: AbortSignal): Promise<KubernetesObject>;
  list(resource: Resource, options: ListOptions, signal?: AbortSignal): Promise<ObjectList>;
  create(resource: Resource, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject>;
  /** Server-side apply: takes ownership of the fields in `object` and removes other fields that we owned. */
  apply(
    resource: Resource,
    object: KubernetesObject,
    options?: ApplyOptions,
    signal?: AbortSignal,
  ): Promise<KubernetesObject>;
  mergePatch(resource: Resource, name: ObjectName, patch: object, signal?: AbortSignal): Promise<KubernetesObject>;
  jsonPatch(resource: Resource, name: ObjectName, patch: object[], signal?: AbortSignal): Promise<KubernetesObject>;
  /** Replaces the object or its status. */
  replace(
    resource: Resource,
    object: KubernetesObject,
    subresource?: 'status',
    signal?: AbortSignal,
  ): Promise<KubernetesObject>;
  /** @returns the object if it still exists, for example after a foreground deletion */
  delete(
    resource: Resource,
    name: ObjectName,
    options: DeleteOptions,
    signal?: AbortSignal,
  ): Promise<KubernetesObject | undefined>;
}

export interface ListOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  limit?: number | undefined;
  continueToken?: string | undefined;
}

export interface ObjectList {
  items: KubernetesObject[];
  resourceVersion: string;
  continueToken: string | undefined;
}

export interface ApplyOptions {
  /** Takes over conflicting fields from other managers. */
  force?: boolean;
  /** Field manager. Default: the client's */
  fieldManager?: string;
}

/** Deletes only the object with this uid, and with `resourceVersion` only in this version. */
export interface DeleteOptions {
  uid: string;
  resourceVersion?: string;
  propagation: 'Background' | 'Foreground';
  /** Grace period of the deleted pod in seconds. Default: from its spec */
  graceS?: number;
}

export interface KubeClientDeps {
  credentials: Credentials;
  fieldManager: string;
  /** Timeout in milliseconds, including retries while the server is busy. */
  timeoutMs?: number;
  /** Retries while the server is busy (429). Default: 3 */
  busyRetries?: number;
  /** Called for each write that was sent. */
  onWrite?: (verb: string, resource: Resource) => void;
}

interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | undefined>;
  body?: object;
  contentType?: string;
}

/** Retries while the server is busy, and the longest wait before one in milliseconds. */
const BUSY_RETRIES = 3;
const BUSY_WAIT_MS = 5_000;

export function createKubeClient(deps: KubeClientDeps): KubeClient {
  const { fieldManager, onWrite = () => {} } = deps;
  const send = (call: Call, signal?: AbortSignal): Promise<unknown> => sendWithRetries(deps, call, signal);
  const object = async (call: Call, signal?: AbortSignal): Promise<KubernetesObject> =>
    (await send(call, signal)) as KubernetesObject;
  const write = (verb: string, resource: Resource, call: Call, signal?: AbortSignal): Promise<KubernetesObject> => {
    onWrite(verb, resource);
    return object(call, signal);
  };
  const patch =
    (verb: string, contentType: string) =>
    (resource: Resource, name: ObjectName, body: object, query: Call['query'], signal?: AbortSignal) =>
      write(
        verb,
        resource,
        {
          method: 'PATCH',
          path: resourcePath(resource, name.namespace, name.name),
          query: { fieldManager, ...query },
          contentType,
          body,
        },
        signal,
      );
  const apply = patch('apply', 'application/apply-patch+yaml');
  const merge = patch('patch', 'application/merge-patch+json');
  const json = patch('patch', 'application/json-patch+json');
  return {
    get: (resource, { name, namespace }, signal) =>
      object({ method: 'GET', path: resourcePath(resource, namespace, name) }, signal),
    list: async (resource, options, signal) => readList(await send(listCall(resource, options), signal)),
    create: (resource, body, signal) => {
      const path = resourcePath(resource, body.metadata.namespace);
      return write('create', resource, { method: 'POST', path, query: { fieldManager }, body }, signal);
    },
    apply: (resource, body, options = {}, signal) => {
      const query = { force: `${options.force ?? false}`, fieldManager: options.fieldManager ?? fieldManager };
      return apply(resource, body.metadata, body, query, signal);
    },
    mergePatch: (resource, name, body, signal) => merge(resource, name, body, {}, signal),
    jsonPatch: (resource, name, body, signal) => json(resource, name, body, {}, signal),
    replace: (resource, body, subresource, signal) => {
      const path = resourcePath(resource, body.metadata.namespace, body.metadata.name, subresource);
      return write('update', resource, { method: 'PUT', path, query: { fieldManager }, body }, signal);
    },
    delete: async (resource, { name, namespace }, { propagation, graceS, ...preconditions }, signal) => {
      const path = resourcePath(resource, namespace, name);
      const grace = graceS === undefined ? {} : { gracePeriodSeconds: graceS };
      const body = { preconditions, propagationPolicy: propagation, ...grace };
      const answer = await write('delete', resource, { method: 'DELETE', path, body }, signal);
      return answer.kind === 'Status' ? undefined : answer;
    },
  };
}

function listCall(
  resource: Resource,
  { namespace, labelSelector, fieldSelector, limit, continueToken }: ListOptions,
): Call {
  return {
    method: 'GET',
    path: resourcePath(resource, namespace),
    query: { labelSelector, fieldSelector, limit: limit?.toString(), continue: continueToken },
  };
}

function readList(answer: unknown): ObjectList {
  const list = answer as {
    apiVersion?: string;
    kind?: string;
    metadata?: { resourceVersion?: string; continue?: string };
    items?: KubernetesObject[] | null;
  };
  const { resourceVersion, continue: next } = list.metadata ?? {};
  if (resourceVersion === undefined) throw new Error('the list has no resourceVersion');
  const kind = list.kind?.replace(/List$/, '');
  // Items in a list of built-in objects have neither apiVersion nor kind.
  const items = (list.items ?? []).map((item) => ({ ...item, apiVersion: list.apiVersion, kind }) as KubernetesObject);
  return { items, resourceVersion, continueToken: next === '' ? undefined : next };
}

async function sendWithRetries(deps: KubeClientDeps, call: Call, cancel?: AbortSignal): Promise<unknown> {
  const { credentials, timeoutMs = 30_000, busyRetries = BUSY_RETRIES } = deps;
  const deadline = startDeadline(timeoutMs, cancel);
  const { signal } = deadline;
  try {
    for (let tries = 0; ; tries += 1) {
      try {
        return await sendOnce(credentials, call, signal);
      } catch (error) {
        const wait = error instanceof KubeError && error.status === 429 ? error.retryAfter : undefined;
        if (wait === undefined || tries >= busyRetries) throw error;
        await sleep(Math.min(wait * 1_000, BUSY_WAIT_MS), undefined, { signal });
      }
    }
  } finally {
    deadline.end();
  }
}

async function sendOnce(credentials: Credentials, call: Call, signal: AbortSignal): Promise<unknown> {
  const { statusCode, headers, body } = await request(callUrl(credentials.server, call), {
    dispatcher: credentials.dispatcher,
    method: call.method,
    headers: {
      accept: 'application/json',
      ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
      ...(await credentials.headers()),
    },
    body: call.body === undefined ? null : JSON.stringify(call.body),
    signal,
  });
  const text = await body.text();
  const answer = parseJson(text);
  if (statusCode >= 200 && statusCode < 300) {
    if (typeof answer !== 'object' || answer === null) throw new Error('the API server did not return a JSON object');
    return answer;
  }
  throw new KubeError(statusCode, (answer ?? {}) as StatusAnswer, retryAfter(headers['retry-after']));
}

export function callUrl(server: string, { path, query = {} }: Pick<Call, 'path' | 'query'>): string {
  const url = new URL(server + path);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  return url.toString();
}

function retryAfter(header: string | string[] | undefined): number | undefined {
  const seconds = Number(Array.isArray(header) ? header[0] : header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}
