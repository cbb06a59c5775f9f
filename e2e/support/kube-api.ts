import { type Cluster, HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { fetch } from 'undici';
import { API_PATHS, apiVersionOf, type Kind, type Kinds } from './kinds.js';
import type { Settings } from './settings.js';

/** The API server rejected a request. */
export class KubeApiError extends Error {
  override name = 'KubeApiError';
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export interface Place {
  name: string;
  namespace?: string | undefined;
}
export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}
export interface Write {
  /** Runs admission only; nothing is stored. */
  dryRun?: boolean;
}
export type Propagation = 'Foreground' | 'Background' | 'Orphan';

/** API server client. Objects are plain JSON, exactly as stored. */
export interface KubeApi {
  config: KubeConfig;
  /** Returns undefined if the object does not exist. */
  find<K extends Kind>(kind: K, place: Place): Promise<Kinds[K] | undefined>;
  get<K extends Kind>(kind: K, place: Place): Promise<Kinds[K]>;
  list<K extends Kind>(kind: K, selection?: Selection): Promise<Kinds[K][]>;
  create<K extends Kind>(kind: K, object: object, how?: Write): Promise<Kinds[K]>;
  /** Merge patch. */
  merge<K extends Kind>(kind: K, place: Place, patch: object): Promise<Kinds[K]>;
  /** Returns false if the object does not exist. */
  delete(kind: Kind, place: Place, propagation?: Propagation): Promise<boolean>;
  /** Any path. @throws KubeApiError */
  request(method: HttpMethod, path: string, options?: RequestOptions): Promise<Response>;
}

export interface RequestOptions {
  body?: object;
  contentType?: string;
  signal?: AbortSignal;
}
type Response = Awaited<ReturnType<typeof fetch>>;

export function loadKubeConfig({ kubeconfig, context }: Pick<Settings, 'kubeconfig' | 'context'>): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  if (config.getContextObject(context) === null) throw new Error(`${kubeconfig} has no context "${context}"`);
  config.setCurrentContext(context);
  return config;
}

export function pathOf(kind: Kind, { name, namespace }: Partial<Place>): string {
  const { prefix, plural } = API_PATHS[kind];
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${prefix}${scope}/${plural}${name === undefined ? '' : `/${name}`}`;
}

export function queryOf({ fieldSelector, labelSelector }: Selection): string {
  const query = new URLSearchParams({
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  }).toString();
  return query === '' ? '' : `?${query}`;
}

export function createKubeApi(config: KubeConfig): KubeApi {
  const { server } = config.getCurrentCluster() as Cluster;
  const request = async (method: HttpMethod, path: string, options: RequestOptions = {}): Promise<Response> => {
    const context = new RequestContext(server + path, method);
    await config.applySecurityAuthentication(context);
    const dispatcher = context.getDispatcher();
    const response = await fetch(server + path, {
      method,
      headers: {
        ...context.getHeaders(),
        accept: 'application/json',
        ...(options.body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(dispatcher === undefined ? {} : { dispatcher }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (response.ok) return response;
    throw refusal(response.status, `${method} ${path}`, await response.text());
  };
  const json = async <T>(...args: Parameters<typeof request>): Promise<T> =>
    (await (await request(...args)).json()) as T;
  const get: KubeApi['get'] = (kind, place) => json(HttpMethod.GET, pathOf(kind, place));
  return {
    config,
    request,
    get,
    find: (kind, place) => orUndefined(get(kind, place)),
    list: async <K extends Kind>(kind: K, selection: Selection = {}) => {
      const path = pathOf(kind, selection.namespace === undefined ? {} : { namespace: selection.namespace });
      const { items } = await json<{ items: Kinds[K][] }>(HttpMethod.GET, `${path}${queryOf(selection)}`);
      // The server omits both in list items.
      return items.map((item) => ({ apiVersion: apiVersionOf(kind), kind, ...item }));
    },
    create: (kind, object, { dryRun = false } = {}) => {
      const body = { apiVersion: apiVersionOf(kind), kind, ...object };
      const { namespace } = (object as { metadata: { namespace?: string } }).metadata;
      const path = pathOf(kind, namespace === undefined ? {} : { namespace });
      return json(HttpMethod.POST, `${path}${dryRun ? '?dryRun=All' : ''}`, { body });
    },
    merge: (kind, place, patch) =>
      json(HttpMethod.PATCH, pathOf(kind, place), { body: patch, contentType: 'application/merge-patch+json' }),
    delete: async (kind, place, propagation = 'Background') => {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: propagation };
      return (await orUndefined(json(HttpMethod.DELETE, pathOf(kind, place), { body }))) !== undefined;
    },
  };
}

function refusal(status: number, what: string, body: string): KubeApiError {
  let reason = '';
  let message = body;
  try {
    ({ reason = '', message = body } = JSON.parse(body) as { reason?: string; message?: string });
  } catch {
    // The body is not a Status object; use its text.
  }
  return new KubeApiError(status, reason, `${what}: ${status} ${reason}: ${message}`);
}

async function orUndefined<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 404) return undefined;
    throw error;
  }
}
