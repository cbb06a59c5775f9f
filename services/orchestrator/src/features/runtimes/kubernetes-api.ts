import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { ConfigError } from '@uswarm/service-kit';
import { type Dispatcher, fetch, type Response } from 'undici';
import { z } from 'zod';
import { PlatformUnreachable } from './runtime-driver.js';
import type { AppliedUserSwarm } from './userswarm-apply.js';
import type { ResourceType, StoredUserSwarm } from './userswarm.js';

/** The API server refused; `status` and `reason` are its own. */
export class KubernetesError extends Error {
  override name = 'KubernetesError';
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: StoredUserSwarm;
}

export interface Listing {
  items: StoredUserSwarm[];
  /** Where a watch goes on. */
  resourceVersion: string;
}

/**
 * The calls that the driver makes; all have a deadline.
 *
 * @throws KubernetesError what asking again does not change
 * @throws PlatformUnreachable no answer, or one that says "later"
 */
export interface UserSwarmApi {
  get(name: string): Promise<StoredUserSwarm | undefined>;
  list(labelSelector: string, signal: AbortSignal): Promise<Listing>;
  /** Ends by itself after some time. */
  watch(
    options: { labelSelector: string; resourceVersion: string },
    onEvent: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void>;
  apply(object: AppliedUserSwarm, options: { fieldManager: string; force: boolean }): Promise<StoredUserSwarm>;
  /** Only the very object that was seen. @returns false where it is gone */
  delete(name: string, seen: { uid: string; resourceVersion: string }): Promise<boolean>;
}

/** The cluster that the process runs in, or the one that `KUBECONFIG` names. @throws ConfigError */
export function loadKubeConfig(environment: Record<string, string | undefined>): KubeConfig {
  const config = new KubeConfig();
  const file = environment['KUBECONFIG'];
  if (file !== undefined && file !== '') config.loadFromFile(file);
  else if (environment['KUBERNETES_SERVICE_HOST'] !== undefined) config.loadFromCluster();
  else throw new ConfigError('RUNTIME_DRIVER=kubernetes runs in a cluster, or needs KUBECONFIG');
  return config;
}

const CALL_MS = 10_000;
/** A watch is renewed this often, which keeps its place fresh; a connection that died shows by then. */
const WATCH_S = 25;
const WATCH_SLACK_MS = 10_000;
const PAGE = '500';

const Failure = z.object({
  reason: z.string().default(''),
  message: z.string().default(''),
  code: z.number().optional(),
});

interface Call {
  method: HttpMethod;
  path?: string;
  query?: Record<string, string>;
  body?: object;
  contentType?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export function createUserSwarmApi(config: KubeConfig, type: ResourceType): UserSwarmApi {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new ConfigError('KUBECONFIG names no current cluster');
  const root = `${cluster.server.replace(/\/+$/, '')}/apis/${type.group}/${type.version}/${type.plural}`;
  let dispatcher: Dispatcher | undefined;

  async function send({ method, path = '', query = {}, body, contentType, ...limits }: Call): Promise<Response> {
    const url = `${root}${path}?${new URLSearchParams(query)}`;
    const context = new RequestContext(url, method);
    await config.applySecurityAuthentication(context);
    // The client makes a new one for each call, and with it a new connection.
    dispatcher ??= context.getDispatcher();
    const timeout = AbortSignal.timeout(limits.timeoutMs ?? CALL_MS);
    const response = await fetch(url, {
      method,
      headers: {
        ...context.getHeaders(),
        accept: 'application/json',
        ...(contentType && { 'content-type': contentType }),
      },
      signal: limits.signal === undefined ? timeout : AbortSignal.any([limits.signal, timeout]),
      ...(dispatcher === undefined ? {} : { dispatcher }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw refusal(response.status, await response.json().catch(() => ({})));
    return response;
  }

  /** What fails without an answer says nothing about the object. */
  async function reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (error instanceof KubernetesError || error instanceof PlatformUnreachable) throw error;
      throw new PlatformUnreachable('the Kubernetes API cannot be reached', { cause: error });
    }
  }

  const receive = <T>(call: Call): Promise<T> => reach(async () => (await (await send(call)).json()) as T);
  const orUndefined = (error: unknown): undefined => {
    if (error instanceof KubernetesError && error.status === 404) return undefined;
    throw error;
  };

  return {
    get: (name) => receive<StoredUserSwarm>({ method: HttpMethod.GET, path: `/${name}` }).catch(orUndefined),

    async list(labelSelector, signal) {
      const items: StoredUserSwarm[] = [];
      let next: string | undefined;
      for (;;) {
        const query = { labelSelector, limit: PAGE, ...(next === undefined ? {} : { continue: next }) };
        const page = await receive<{
          items: StoredUserSwarm[];
          metadata: { resourceVersion: string; continue?: string };
        }>({ method: HttpMethod.GET, query, signal });
        items.push(...page.items);
        next = page.metadata.continue;
        if (next === undefined || next === '') return { items, resourceVersion: page.metadata.resourceVersion };
      }
    },

    watch: ({ labelSelector, resourceVersion }, onEvent, signal) =>
      reach(async () => {
        const query = {
          watch: 'true',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(WATCH_S),
          labelSelector,
          resourceVersion,
        };
        const timeoutMs = WATCH_S * 1_000 + WATCH_SLACK_MS;
        const response = await send({ method: HttpMethod.GET, query, timeoutMs, signal });
        for await (const line of lines(response)) {
          const event = JSON.parse(line) as WatchEvent | { type: 'ERROR'; object: unknown };
          if (event.type === 'ERROR') throw refusal(500, event.object);
          onEvent(event);
        }
      }),

    apply: (object, { fieldManager, force }) =>
      receive({
        method: HttpMethod.PATCH,
        path: `/${object.metadata.name}`,
        query: { fieldManager, force: String(force) },
        body: object,
        contentType: 'application/apply-patch+yaml',
      }),

    async delete(name, preconditions) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy: 'Background' };
      const contentType = 'application/json';
      const call = { method: HttpMethod.DELETE, path: `/${name}`, body, contentType };
      return (await receive<object>(call).catch(orUndefined)) !== undefined;
    },
  };
}

/** "Too many requests" and the server's own troubles pass. */
function refusal(httpStatus: number, answer: unknown): Error {
  const parsed = Failure.safeParse(answer);
  const { reason, message, code = httpStatus } = parsed.success ? parsed.data : Failure.parse({});
  const text = `the Kubernetes API answered ${code} ${reason}: ${message}`;
  return code === 429 || code >= 500 ? new PlatformUnreachable(text) : new KubernetesError(code, reason, text);
}

async function* lines(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body) {
    const parts = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') yield line;
  }
}
