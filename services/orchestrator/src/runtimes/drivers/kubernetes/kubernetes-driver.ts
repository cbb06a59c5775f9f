import { userSwarmName, workspaceIdOf } from '@uswarm/contract/userswarm';
import { isConflict, isRefusal, type KubeClient, type Resource, type Watch } from '@uswarm/kube-client';
import type { Logger } from '@uswarm/service-kit';
import type { DrainFlag } from './drain-flag.js';
import { PlatformUnreachable, type RuntimeDriver, type RuntimeObservation, type RuntimeSpec } from '../driver.js';
import { watchRuntimeEndpoints } from './runtime-endpoints.js';
import { openUserSwarms } from './userswarm-api.js';
import { type Apply, planApply, type UserSwarmSettings } from './userswarm-apply.js';
import { isManaged, isStarting, isTerminating, observe, type StoredUserSwarm } from './userswarm.js';

export interface KubernetesDriverDeps {
  client: Pick<KubeClient, 'get' | 'list' | 'apply' | 'delete'>;
  watch: Watch;
  type: Resource;
  settings: UserSwarmSettings;
  reportsStarting: boolean;
  /** While it is raised, nothing is created or changed. */
  drain?: DrainFlag | undefined;
  logger: Logger;
}

export interface KubernetesDriver extends RuntimeDriver {
  /** Stops watching; runtimes stay as they are. */
  close(): Promise<void>;
}

const absent = (reason: string): RuntimeObservation => ({ phase: 'Progressing', reason, address: null, current: true });
const DRAINING = 'Draining';

/**
 * Applies a runtime's desired state to its UserSwarm; the controller reconciles it. Kubernetes restarts unresponsive
 * pods, so `unresponsive` has no effect.
 */
export function createKubernetesDriver(deps: KubernetesDriverDeps): KubernetesDriver {
  const { type, settings, reportsStarting, drain, logger } = deps;
  const listeners: ((workspaceId: string) => void)[] = [];
  const onChange = (name: string): void => {
    for (const listener of listeners) listener(workspaceIdOf(name));
  };
  const api = openUserSwarms({ ...deps, onChange });
  const endpoints = reportsStarting
    ? watchRuntimeEndpoints({
        ...deps,
        namespace: settings.namespace,
        onAddress(name) {
          const stored = api.known(name);
          if (stored !== undefined && isStarting(observe(stored))) onChange(name);
        },
      })
    : undefined;

  function observeWithPod(stored: StoredUserSwarm): RuntimeObservation {
    const observation = observe(stored);
    const startingAddress = isStarting(observation) ? endpoints?.addressOf(stored.metadata.name) : undefined;
    return { ...observation, ...(startingAddress === undefined ? {} : { startingAddress }) };
  }

  async function find(name: string): Promise<StoredUserSwarm | undefined> {
    try {
      return api.known(name) ?? (await api.get(name));
    } catch (error) {
      // A refused read leaves the object unknown.
      if (isRefusal(error)) throw new PlatformUnreachable(error.message, { cause: error });
      throw error;
    }
  }

  async function apply({ object, force }: Apply, stored: StoredUserSwarm | undefined): Promise<RuntimeObservation> {
    const { name } = object.metadata;
    try {
      return observeWithPod(await api.apply(object, { force }));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      logger.warn({ err: error, userSwarm: name }, 'failed to apply a UserSwarm');
      return stored === undefined ? absent(error.reason === '' ? 'ApplyFailed' : error.reason) : observeWithPod(stored);
    }
  }

  async function ensure(spec: RuntimeSpec, signal: AbortSignal | undefined): Promise<RuntimeObservation> {
    const stored = await find(userSwarmName(spec.workspaceId));
    if (stored !== undefined && !isManaged(stored)) return absent('NameConflict');
    // The next call creates it again.
    if (stored !== undefined && isTerminating(stored)) return observeWithPod(stored);
    const plan = planApply(type, settings, spec, stored);
    if (plan === undefined) return stored === undefined ? absent('ApplyFailed') : observeWithPod(stored);
    if (await drain?.raised()) return stored === undefined ? absent(DRAINING) : observeWithPod(stored);
    if (stored === undefined) signal?.throwIfAborted();
    return apply(plan, stored);
  }

  /** @returns true when the UserSwarm is deleted */
  async function removeUserSwarm(name: string): Promise<boolean> {
    const cached = api.known(name);
    if (cached !== undefined && isTerminating(cached)) return false;
    const stored = await api.get(name);
    if (stored === undefined) return true;
    if (!isManaged(stored)) {
      logger.warn({ userSwarm: name }, 'left a UserSwarm of another manager unchanged');
      return true;
    }
    const { uid, resourceVersion } = stored.metadata;
    if (isTerminating(stored) || uid === undefined || resourceVersion === undefined) return false;
    try {
      return !(await api.delete(name, { uid, resourceVersion }));
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  return {
    reportsLiveness: true,
    ensure: (spec, { signal }) => ensure(spec, signal),
    async peek(specs) {
      if (!api.synced()) throw new PlatformUnreachable('the UserSwarm cache is not synced');
      const observations = new Map<string, RuntimeObservation>();
      for (const spec of specs) {
        const stored = api.known(userSwarmName(spec.workspaceId));
        if (stored === undefined) continue;
        const outdated = !isTerminating(stored) && planApply(type, settings, spec, stored) !== undefined;
        observations.set(spec.workspaceId, { ...observeWithPod(stored), ...(outdated && { outdated }) });
      }
      return observations;
    },
    remove: (workspaceId) => removeUserSwarm(userSwarmName(workspaceId)),
    onChange(listener) {
      listeners.push(listener);
    },
    async close() {
      await Promise.all([api.close(), endpoints?.close()]);
    },
  };
}
