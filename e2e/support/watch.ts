import { HttpMethod } from '@kubernetes/client-node';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeApi, pathOf, queryOf, type Selection } from './kube-api.js';
import type { Kind, Kinds } from './kinds.js';

export interface Seen<T> {
  /** Milliseconds since the epoch, on the clock of this machine. */
  at: number;
  /** Undefined after the deletion. */
  object: T | undefined;
}

/** One list and watch per test file. Records every observed state. */
export interface ObjectWatch<T> {
  /** Every state of one object, oldest first; the key is its name, or `<namespace>/<name>`. */
  history(key: string): readonly Seen<T>[];
  current(key: string): T | undefined;
  all(): T[];
  /**
   * Resolves with the first matching state, starting with the current one.
   *
   * @throws Error with the last states on timeout
   */
  until(key: string, what: string, fits: (object: T | undefined) => boolean, withinMs: number): Promise<Seen<T>>;
  /** Like `until`, for all objects. */
  untilAny(what: string, fits: (object: T) => boolean, withinMs: number): Promise<Seen<T>>;
  onChange(listener: (key: string, seen: Seen<T>) => void): void;
  stop(): void;
}

interface Named {
  metadata?: { name?: string; namespace?: string; resourceVersion?: string };
}

const keyOf = ({ metadata }: Named): string =>
  metadata?.namespace === undefined ? `${metadata?.name}` : `${metadata.namespace}/${metadata.name}`;

export interface WatchOptions<T> extends Selection {
  /** Formats a state for the error message after a failed wait. */
  show?: (object: T) => string;
}

export async function watchObjects<K extends Kind>(
  api: Pick<KubeApi, 'request'>,
  kind: K,
  {
    show = (object) => JSON.stringify((object as { status?: unknown }).status),
    ...selection
  }: WatchOptions<Kinds[K]> = {},
): Promise<ObjectWatch<Kinds[K]>> {
  type T = Kinds[K];
  const states = new Map<string, Seen<T>[]>();
  const listeners = new Set<(key: string, seen: Seen<T>) => void>();
  const stopping = new AbortController();
  const record = (key: string, object: T | undefined): void => {
    const seen = { at: Date.now(), object };
    states.set(key, [...(states.get(key) ?? []), seen]);
    for (const listener of listeners) listener(key, seen);
  };
  const current = (key: string): T | undefined => states.get(key)?.at(-1)?.object;
  const path = pathOf(kind, selection.namespace === undefined ? {} : { namespace: selection.namespace });

  const relist = async (): Promise<string> => {
    const response = await api.request(HttpMethod.GET, `${path}${queryOf(selection)}`, { signal: stopping.signal });
    const list = (await response.json()) as { metadata: { resourceVersion: string }; items: T[] };
    const present = new Map(list.items.map((item) => [keyOf(item as Named), item]));
    for (const [key, item] of present) {
      if (versionOf(current(key)) !== versionOf(item)) record(key, item);
    }
    for (const key of states.keys()) if (current(key) !== undefined && !present.has(key)) record(key, undefined);
    return list.metadata.resourceVersion;
  };
  const follow = async (since: string): Promise<void> => {
    const query = new URLSearchParams(queryOf(selection).slice(1));
    query.set('watch', 'true');
    query.set('resourceVersion', since);
    const response = await api.request(HttpMethod.GET, `${path}?${query}`, { signal: stopping.signal });
    for await (const line of createInterface({ input: Readable.fromWeb(response.body as never) })) {
      const { type, object } = JSON.parse(line) as { type: string; object: T };
      if (type === 'ERROR') return;
      record(keyOf(object as Named), type === 'DELETED' ? undefined : object);
    }
  };

  let version = await relist();
  void (async () => {
    while (!stopping.signal.aborted) {
      try {
        await follow(version);
        version = await relist();
      } catch {
        // The API server is unavailable, or the namespace does not exist yet: retry until stopped.
        await sleep(500, undefined, { signal: stopping.signal }).catch(() => undefined);
        version = await relist().catch(() => version);
      }
    }
  })();

  const wait = (
    what: string,
    withinMs: number,
    find: () => Seen<T> | undefined,
    last: () => string,
  ): Promise<Seen<T>> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = find();
        if (found === undefined) return;
        clearTimeout(timer);
        listeners.delete(check);
        resolve(found);
      };
      const timer = setTimeout(() => {
        listeners.delete(check);
        reject(new Error(`${kind} ${what}: not within ${withinMs / 1000} s; last: ${last()}`));
      }, withinMs);
      listeners.add(check);
      check();
    });
  const describe = (key: string): string =>
    (states.get(key) ?? [])
      .slice(-4)
      .map(({ object }) => (object === undefined ? 'deleted' : show(object)))
      .join(' | ') || 'never seen';

  return {
    history: (key) => states.get(key) ?? [],
    current,
    all: () => [...states.keys()].map(current).filter((object) => object !== undefined),
    until: (key, what, fits, withinMs) => {
      const from = Math.max(0, (states.get(key)?.length ?? 0) - 1);
      const absent: Seen<T> = { at: Date.now(), object: undefined };
      const find = (): Seen<T> | undefined => {
        const known = states.get(key);
        return known === undefined
          ? fits(undefined)
            ? absent
            : undefined
          : known.slice(from).find(({ object }) => fits(object));
      };
      return wait(`${key} ${what}`, withinMs, find, () => describe(key));
    },
    untilAny: (what, fits, withinMs) => {
      const find = (): Seen<T> | undefined =>
        [...states.values()]
          .flatMap((seen) => seen.slice(-1))
          .find(({ object }) => object !== undefined && fits(object));
      return wait(what, withinMs, find, () => [...states.keys()].map((key) => `${key}: ${describe(key)}`).join('\n'));
    },
    onChange: (listener) => void listeners.add(listener),
    stop: () => {
      stopping.abort();
      listeners.clear();
    },
  };
}

const versionOf = (object: unknown): string | undefined => (object as Named | undefined)?.metadata?.resourceVersion;
