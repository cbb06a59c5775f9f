import { createCredentials } from '@uswarm/kube-client';
import { KubeConfig } from '@kubernetes/client-node';
import { request } from 'undici';

/** API server client with few keep-alive connections, to limit the measurement's own load. */
export interface ScaleApi {
  /** PATCH is a merge patch. @throws Error with the response, except 404 for DELETE and PATCH */
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Record<string, unknown>>;
  /** The number of objects in a collection, without listing them. */
  count(path: string): Promise<number>;
  list(path: string): Promise<Listed[]>;
  close(): Promise<void>;
}

export interface Listed {
  metadata: { name: string; finalizers?: string[] };
  status?: { phase?: string };
}

/** @param user the user to impersonate */
export async function createScaleApi(config: KubeConfig, user?: string): Promise<ScaleApi> {
  const credentials = await createCredentials(user === undefined ? config : impersonating(config, user));
  const call: ScaleApi['call'] = async (method, path, body) => {
    const { statusCode, body: answer } = await request(credentials.server + path, {
      dispatcher: credentials.dispatcher,
      method,
      headers: {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        ...(await credentials.headers()),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const notFound = (method === 'DELETE' || method === 'PATCH') && statusCode === 404;
    if (statusCode >= 300 && !notFound) throw new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 500)}`);
    return JSON.parse(text) as Record<string, unknown>;
  };
  return {
    call,
    async count(path) {
      const { metadata, items } = (await call('GET', `${path}?limit=1`)) as {
        metadata: { remainingItemCount?: number };
        items: unknown[];
      };
      return items.length + (metadata.remainingItemCount ?? 0);
    },
    list: async (path) => ((await call('GET', path)) as { items: Listed[] }).items,
    close: () => credentials.close(),
  };
}

export function impersonating(config: KubeConfig, user: string): KubeConfig {
  const other = new KubeConfig();
  other.loadFromString(config.exportConfig());
  other.users = other.users.map((known) => ({ ...known, impersonateUser: user }));
  return other;
}

/** Runs `work` for all items with limited concurrency. */
export async function forAll<T>(items: readonly T[], concurrency: number, work: (item: T) => Promise<unknown>) {
  const waiting = [...items];
  const take = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, take));
}
