import type { KubernetesObject } from '@uswarm/contract/userswarm';
import {
  createStore,
  type InformerTiming,
  isNotFound,
  isRefusal,
  type KubeClient,
  type Resource,
  startInformer,
  type Watch,
} from '@uswarm/kube-client';
import type { Logger } from '@uswarm/service-kit';
import { PlatformUnreachable } from '../driver.js';
import { type AppliedUserSwarm, FIELD_MANAGER } from './userswarm-apply.js';
import { OURS, type StoredUserSwarm } from './userswarm.js';

/**
 * The UserSwarms of orchestrators: what is known of them, and the calls that the driver makes.
 *
 * @throws KubeError what asking again does not change
 * @throws PlatformUnreachable no answer, or one that says "later"
 */
export interface UserSwarmApi {
  /** Whether all UserSwarms are known, and changes are reported. */
  synced(): boolean;
  /**
   * As last seen. Undefined if there is none of ours, or if what was seen is in doubt or the server refuses to show it:
   * then the server has to be asked.
   */
  known(name: string): StoredUserSwarm | undefined;
  get(name: string): Promise<StoredUserSwarm | undefined>;
  apply(object: AppliedUserSwarm, options: { force: boolean }): Promise<StoredUserSwarm>;
  /** Only the very object that was seen. @returns false where it is gone */
  delete(name: string, seen: { uid: string; resourceVersion: string }): Promise<boolean>;
  /** Stops watching. */
  close(): Promise<void>;
}

export interface UserSwarmApiDeps {
  client: Pick<KubeClient, 'get' | 'list' | 'apply' | 'delete'>;
  watch: Watch;
  type: Resource;
  /** Called with the name of a UserSwarm that others changed or deleted. */
  onChange: (name: string) => void;
  timing?: InformerTiming | undefined;
  logger: Logger;
}

export function openUserSwarms({ client, watch, type, onChange, timing, logger }: UserSwarmApiDeps): UserSwarmApi {
  /** A write based on what is known of them was refused: that may be out of date. */
  const doubted = new Set<string>();
  const store = createStore({
    keepManagedFields: true,
    onChange({ before, after }) {
      const name = (after ?? before)?.metadata.name ?? '';
      doubted.delete(name);
      onChange(name);
    },
  });
  const informer = startInformer({
    client,
    watch,
    resource: type,
    labelSelector: OURS,
    store,
    logger,
    ...(timing === undefined ? {} : { timing }),
  });

  return {
    synced: () => informer.listed() && informer.state() === 'ready',

    known(name) {
      const object = doubted.has(name) || informer.state() === 'denied' ? undefined : store.get(name);
      return object && asUserSwarm(object);
    },

    get: (name) => reach(async () => asUserSwarm(await client.get(type, { name }))).catch(ifFound(undefined)),

    async apply(object, { force }) {
      const { name } = object.metadata;
      try {
        const options = { fieldManager: FIELD_MANAGER, force };
        const written = await reach(() => client.apply(type, { ...object }, options));
        doubted.delete(name);
        store.written(written);
        return asUserSwarm(written);
      } catch (error) {
        if (isRefusal(error) && store.get(name) !== undefined) doubted.add(name);
        throw error;
      }
    },

    delete: (name, seen) =>
      reach(async () => {
        await client.delete(type, { name }, { ...seen, propagation: 'Background' });
        return true;
      }).catch(ifFound(false)),

    close: () => informer.stop(),
  };
}

/** What fails without an answer says nothing about the object. */
async function reach<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isRefusal(error)) throw error;
    throw new PlatformUnreachable('the Kubernetes API cannot be reached', { cause: error });
  }
}

const ifFound =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (isNotFound(error)) return instead;
    throw error;
  };

const asUserSwarm = (object: KubernetesObject): StoredUserSwarm => object as unknown as StoredUserSwarm;
