import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffDelay, type Logger } from '@uswarm/service-kit';
import type { KubeClient } from './client.js';
import { isDenied, isGone, isVersionRefused, KubeError } from './errors.js';
import type { KubernetesObject } from '@uswarm/kube-types';
import { isNewer } from './resource-version.js';
import type { Resource } from './resource.js';
import type { Store } from './store.js';
import { type Watch, MalformedWatchEvent, WatchTimeout } from './watch.js';

/** The fault that ended a watch or a list. */
export type InformerFault = 'gone' | 'garbage' | 'silence' | 'denied' | 'refused' | 'connection';

export interface InformerTiming {
  /** Seconds after which the server ends each watch. */
  watchS: number;
  /** Read timeout in milliseconds; longer than `watchS`. */
  silenceMs: number;
  backoff: Backoff;
  /** Milliseconds without a running watch after which the informer is no longer alive. Default: 30 s */
  staleMs?: number;
  /** Milliseconds without a running watch after which the next watch starts from a new list. Default: 2 min */
  relistMs?: number;
  /** Milliseconds without a running watch after which the server's history is checked before resuming. Default: 5 s */
  checkMs?: number;
}

/** The server ends each watch after 25 s, so a connection without data for 30 s is dead. */
export const DEFAULT_TIMING: InformerTiming = {
  watchS: 25,
  silenceMs: 30_000,
  backoff: { initialMs: 200, maxMs: 10_000 },
};

export interface InformerDeps {
  client: Pick<KubeClient, 'list'>;
  watch: Watch;
  resource: Resource;
  namespace?: string;
  labelSelector?: string;
  store: Store;
  timing?: InformerTiming;
  logger: Pick<Logger, 'warn'>;
  /** Called for each fault and for each start of a watch. */
  onFault?: (fault: InformerFault) => void;
  onWatch?: () => void;
  /** Called when `state` changes. */
  onState?: () => void;
}

/**
 * `loading` until the first list is complete, and again after a refusal, because the cache may be stale; `denied` after
 * repeated refusals; `ready` otherwise, also while the server is unreachable.
 */
export type InformerState = 'loading' | 'ready' | 'denied';

export interface Informer {
  state(): InformerState;
  /** True after the first complete list. Before that, a missing object may exist. */
  listed(): boolean;
  /** Whether a list is complete and a watch is running, or was within the last `staleMs`. */
  alive(): boolean;
  stop(): Promise<void>;
}

const PAGE = 500;
/** A watch that ends earlier than this without an event counts as a failure, in milliseconds. */
const SHORT_MS = 1_000;
const STALE_MS = 30_000;
const RELIST_MS = 120_000;
const CHECK_MS = 5_000;
/** Consecutive refusals until the state is `denied`; a few seconds with the default back-off. */
const REFUSALS = 5;

/** Starts to keep `store` in sync with the server, until it is stopped. */
export function startInformer(deps: InformerDeps): Informer {
  const { timing = DEFAULT_TIMING, logger, onFault = () => {}, onState = () => {} } = deps;
  const { staleMs = STALE_MS } = timing;
  const stopping = new AbortController();
  const { signal } = stopping;
  const seen: Seen = { version: undefined, listed: undefined, listedAt: -Infinity, aliveAt: -Infinity, open: false };
  let state: InformerState = 'loading';
  let listed = false;
  let refusals = 0;
  const enter = (next: InformerState): void => {
    if (state === next) return;
    state = next;
    onState();
  };

  const run = async (): Promise<void> => {
    const onOpen = (): void => {
      refusals = 0;
      enter('ready');
    };
    for (let failures = 0; !signal.aborted;) {
      try {
        if (await mustList(deps, timing, seen, failures, signal)) await list(deps, seen, signal);
        listed = true;
        // With the permission to list but not to watch, the state would alternate between ready and denied.
        if (refusals === 0) enter('ready');
        if (await watchOnce(deps, timing, seen, onOpen, signal)) failures = 0;
        else failures += 1;
      } catch (error) {
        if (signal.aborted) return;
        const fault = faultOf(error);
        onFault(fault);
        logger.warn({ err: error, fault, resource: deps.resource.plural, namespace: deps.namespace }, 'watch failed');
        if (fault === 'denied') {
          refusals += 1;
          if (refusals >= REFUSALS) enter('denied');
          else if (state === 'ready') enter('loading');
        }
        failures += 1;
        if (isLost(fault, error)) seen.version = undefined;
      }
      if (failures > 0) await sleep(backoffDelay(timing.backoff, failures - 1), undefined, { signal }).catch(() => {});
    }
  };
  const running = run();
  return {
    state: () => state,
    listed: () => listed,
    alive: () => listed && (seen.open || performance.now() - seen.aliveAt <= staleMs),
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

interface Seen {
  /** The version at which the next watch starts; undefined if a list is required first. */
  version: string | undefined;
  /** The last version that a list or a watch reached. */
  listed: string | undefined;
  /** When the last list was complete, and when a watch last ran, in monotonic milliseconds. */
  listedAt: number;
  aliveAt: number;
  /** True while a watch is running. */
  open: boolean;
}

/**
 * A watch resumes from the last version, because otherwise all replicas would list everything at the same time after an
 * outage. It must not resume if the server was restored from a backup: its versions restart at an earlier number, and a
 * watch from a later one receives no events. A list with one object returns the server's current version.
 */
async function mustList(
  { client, resource, namespace, labelSelector }: InformerDeps,
  { relistMs = RELIST_MS, checkMs = CHECK_MS }: InformerTiming,
  seen: Seen,
  failures: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (seen.version === undefined) return true;
  const blindMs = performance.now() - Math.max(seen.aliveAt, seen.listedAt);
  if (failures === 0 || blindMs < checkMs) return false;
  if (blindMs >= relistMs) return true;
  const { resourceVersion } = await client.list(resource, { namespace, labelSelector, limit: 1 }, signal);
  return seen.listed !== undefined && isNewer(seen.listed, resourceVersion);
}

async function list(
  { client, resource, namespace, labelSelector, store }: InformerDeps,
  seen: Seen,
  signal: AbortSignal,
) {
  const items: KubernetesObject[] = [];
  let continueToken: string | undefined;
  let resourceVersion: string;
  do {
    const options = { namespace, labelSelector, limit: PAGE, continueToken };
    const page = await client.list(resource, options, signal);
    items.push(...page.items);
    ({ resourceVersion, continueToken } = page);
  } while (continueToken !== undefined);
  // After a restore from a backup, versions restart at an earlier number.
  const reset = seen.listed !== undefined && isNewer(seen.listed, resourceVersion);
  store.replace(items, resourceVersion, reset);
  seen.version = resourceVersion;
  seen.listed = resourceVersion;
  seen.listedAt = performance.now();
}

/** @returns whether the watch succeeded: it received an event or lasted long enough */
async function watchOnce(
  { watch, resource, namespace, labelSelector, store, onWatch = () => {} }: InformerDeps,
  { watchS, silenceMs }: InformerTiming,
  seen: Seen,
  onOpen: () => void,
  signal: AbortSignal,
): Promise<boolean> {
  const start = performance.now();
  let events = 0;
  const opened = (): void => {
    seen.open = true;
    seen.aliveAt = performance.now();
    onOpen();
  };
  const version = seen.version ?? '';
  const options = { namespace, labelSelector, resourceVersion: version, lastsS: watchS, silenceMs, onOpen: opened };
  onWatch();
  try {
    await watch(
      resource,
      options,
      ({ type, object }) => {
        events += 1;
        seen.aliveAt = performance.now();
        if (type === 'DELETED') store.remove(object);
        else if (type !== 'BOOKMARK') store.put(object);
        seen.version = object.metadata.resourceVersion;
        seen.listed = seen.version;
      },
      signal,
    );
    // The server ended the watch, so the connection was alive until now.
    if (seen.open) seen.aliveAt = performance.now();
  } catch (error) {
    // A connection that broke was alive until then.
    if (seen.open && faultOf(error) === 'connection') seen.aliveAt = performance.now();
    throw error;
  } finally {
    seen.open = false;
  }
  return events > 0 || performance.now() - start >= SHORT_MS;
}

function faultOf(error: unknown): InformerFault {
  if (isGone(error)) return 'gone';
  if (isDenied(error)) return 'denied';
  if (error instanceof MalformedWatchEvent) return 'garbage';
  if (error instanceof WatchTimeout) return 'silence';
  return error instanceof KubeError ? 'refused' : 'connection';
}

/** Whether a watch cannot resume from the last version: it is too old or too new, or an event was lost. */
function isLost(fault: InformerFault, error: unknown): boolean {
  return fault === 'gone' || fault === 'garbage' || isVersionRefused(error);
}
