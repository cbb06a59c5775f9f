import {
  createStore,
  type InformerTiming,
  isNotFound,
  isRefusal,
  type KubeClient,
  type KubernetesObject,
  type Resource,
  startInformer,
  type Watch,
} from '@uswarm/kube-client';
import type { Logger } from '@uswarm/service-kit';
import { PlatformUnreachable } from '../driver.js';
import { type AppliedUserSwarm, FIELD_MANAGER } from './userswarm-apply.js';
import { MANAGED, type StoredUserSwarm } from './userswarm.js';

/**
 * Caches the UserSwarms that the orchestrator manages, and writes them.
 *
 * @throws KubeError if a retry has the same result
 * @throws PlatformUnreachable if a retry can succeed
 */
export interface UserSwarmApi {
  /** True if the cache is complete and current. */
  synced(): boolean;
  /** Returns the cached object. Undefined if there is none or it may be outdated: then call `get`. */
  known(name: string): StoredUserSwarm | undefined;
  get(name: string): Promise<StoredUserSwarm | undefined>;
  apply(object: AppliedUserSwarm, options: { force: boolean }): Promise<StoredUserSwarm>;
  /** Deletes only the given object version. @returns false if it does not exist */
  delete(name: string, precondition: { uid: string; resourceVersion: string }): Promise<boolean>;
  close(): Promise<void>;
}

export interface UserSwarmApiDeps {
  client: Pick<KubeClient, 'get' | 'list' | 'apply' | 'delete'>;
  watch: Watch;
  type: Resource;
  /** Called when another client changed or deleted the UserSwarm. */
  onChange: (name: string) => void;
  timing?: InformerTiming | undefined;
  logger: Logger;
}

export function openUserSwarms({ client, watch, type, onChange, timing, logger }: UserSwarmApiDeps): UserSwarmApi {
  /** A write based on the cached object was refused, so the cache may be outdated. */
  const suspect = new Set<string>();
  const store = createStore({
    keepManagedFields: true,
    onChange({ before, after }) {
      const name = (after ?? before)?.metadata.name ?? '';
      suspect.delete(name);
      onChange(name);
    },
  });
  const informer = startInformer({
    client,
    watch,
    resource: type,
    labelSelector: MANAGED,
    store,
    logger,
    ...(timing === undefined ? {} : { timing }),
  });

  return {
    synced: () => informer.listed() && informer.state() === 'ready',

    known(name) {
      const object = suspect.has(name) || informer.state() === 'denied' ? undefined : store.get(name);
      return object && asUserSwarm(object);
    },

    get: (name) => reach(async () => asUserSwarm(await client.get(type, { name }))).catch(notFoundAs(undefined)),

    async apply(object, { force }) {
      const { name } = object.metadata;
      try {
        const options = { fieldManager: FIELD_MANAGER, force };
        const written = await reach(() => client.apply(type, { ...object }, options));
        suspect.delete(name);
        store.written(written);
        return asUserSwarm(written);
      } catch (error) {
        if (isRefusal(error) && store.get(name) !== undefined) suspect.add(name);
        throw error;
      }
    },

    delete: (name, precondition) =>
      reach(async () => {
        await client.delete(type, { name }, { ...precondition, propagation: 'Background' });
        return true;
      }).catch(notFoundAs(false)),

    close: () => informer.stop(),
  };
}

/** Turns failures that do not concern the object itself into PlatformUnreachable. */
async function reach<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isRefusal(error)) throw error;
    throw new PlatformUnreachable('the Kubernetes API is unreachable', { cause: error });
  }
}

const notFoundAs =
  <T>(fallback: T) =>
  (error: unknown): T => {
    if (isNotFound(error)) return fallback;
    throw error;
  };

const asUserSwarm = (object: KubernetesObject): StoredUserSwarm => object as unknown as StoredUserSwarm;
