import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay, type Logger } from '@uswarm/service-kit';
import { KubernetesError, type UserSwarmApi, type WatchEvent } from './kubernetes-api.js';
import { OURS, type StoredUserSwarm } from './userswarm.js';

/** What is known of the UserSwarms of orchestrators, kept up to date by the API server. */
export interface UserSwarmWatch {
  get(name: string): StoredUserSwarm | undefined;
  /** What a call of our own brought back, until the watch brings something newer. */
  put(swarm: StoredUserSwarm): void;
  drop(name: string): void;
  close(): Promise<void>;
}

export interface UserSwarmWatchDeps {
  api: Pick<UserSwarmApi, 'list' | 'watch'>;
  /** `swarm` is undefined where it is gone. */
  onChange: (name: string, swarm: StoredUserSwarm | undefined) => void;
  logger: Logger;
}

const RETRY = { initialMs: 100, maxMs: 5_000 };
/** After so many failures in a row it begins with a list: the place it had may not be one any more. */
const RELIST_AFTER = 5;

export function watchUserSwarms({ api, onChange, logger }: UserSwarmWatchDeps): UserSwarmWatch {
  const known = new Map<string, StoredUserSwarm>();
  const stopping = new AbortController();
  const { signal } = stopping;

  function put(swarm: StoredUserSwarm): boolean {
    const { name } = swarm.metadata;
    const before = known.get(name);
    if (before !== undefined && isOlder(swarm, before)) return false;
    known.set(name, swarm);
    return true;
  }

  function replaceAll(swarms: readonly StoredUserSwarm[]): void {
    const gone = new Set(known.keys());
    for (const swarm of swarms) {
      gone.delete(swarm.metadata.name);
      known.set(swarm.metadata.name, swarm);
      onChange(swarm.metadata.name, swarm);
    }
    for (const name of gone) {
      known.delete(name);
      onChange(name, undefined);
    }
  }

  function take({ type, object }: WatchEvent): void {
    const { name } = object.metadata;
    if (type === 'BOOKMARK') return;
    if (type !== 'DELETED') {
      if (put(object)) onChange(name, object);
      return;
    }
    // One of the same name may have been made since.
    const { uid } = known.get(name)?.metadata ?? {};
    if (uid !== undefined && uid !== object.metadata.uid) return;
    known.delete(name);
    onChange(name, undefined);
  }

  async function follow(): Promise<void> {
    let resourceVersion: string | undefined;
    for (let failures = 0; !signal.aborted;) {
      try {
        if (resourceVersion === undefined) {
          const listing = await api.list(OURS, signal);
          replaceAll(listing.items);
          ({ resourceVersion } = listing);
        }
        const options = { labelSelector: OURS, resourceVersion };
        let events = 0;
        const onEvent = (event: WatchEvent): void => {
          events += 1;
          failures = 0;
          ({ resourceVersion } = event.object.metadata);
          take(event);
        };
        await api.watch(options, onEvent, signal);
        // Without even a bookmark it may have ended as soon as it began.
        failures = 0;
        if (events === 0) await sleep(RETRY.initialMs, undefined, { signal });
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        // 410 Gone, mostly. What has no answer goes on from the same place.
        if (error instanceof KubernetesError || failures % RELIST_AFTER === 0) resourceVersion = undefined;
        logger.warn({ err: error, failures }, 'the watch of UserSwarms was interrupted');
        await sleep(backoffDelay(RETRY, failures - 1), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  const following = follow();
  return {
    get: (name) => known.get(name),
    put: (swarm) => void put(swarm),
    drop: (name) => void known.delete(name),
    async close() {
      stopping.abort();
      await following;
    },
  };
}

/** Resource versions of one object grow. */
function isOlder({ metadata }: StoredUserSwarm, than: StoredUserSwarm): boolean {
  const [mine, theirs] = [metadata.resourceVersion ?? '', than.metadata.resourceVersion ?? ''];
  if (metadata.uid !== than.metadata.uid || !/^\d+$/.test(mine) || !/^\d+$/.test(theirs)) return false;
  return BigInt(mine) < BigInt(theirs);
}
