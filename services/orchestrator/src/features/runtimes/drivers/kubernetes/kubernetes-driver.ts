import { userSwarmName, workspaceIdOf } from '@uswarm/contract/userswarm';
import { isConflict, isRefusal, type KubeClient, type Resource, type Watch } from '@uswarm/kube-client';
import type { Logger } from '@uswarm/service-kit';
import type { DrainFlag } from './drain-flag.js';
import { PlatformUnreachable, type RuntimeDriver, type RuntimeObservation, type RuntimeSpec } from '../driver.js';
import { openUserSwarms } from './userswarm-api.js';
import { type Apply, planApply, type UserSwarmSettings } from './userswarm-apply.js';
import { isOurs, isTerminating, observe, type StoredUserSwarm } from './userswarm.js';

export interface KubernetesDriverDeps {
  client: Pick<KubeClient, 'get' | 'list' | 'apply' | 'delete'>;
  watch: Watch;
  type: Resource;
  settings: UserSwarmSettings;
  /** While it is raised nothing is made or changed. */
  drain?: DrainFlag | undefined;
  logger: Logger;
}

export interface KubernetesDriver extends RuntimeDriver {
  /** Stops watching; runtimes stay as they are. */
  close(): Promise<void>;
}

/** Of a UserSwarm that is not there, or not ours. */
const absent = (reason: string): RuntimeObservation => ({ phase: 'Progressing', reason, address: null, current: true });
/** Everything goes, as the release is being removed. */
const DRAINING = 'Draining';

/**
 * A UserSwarm in place of a process: what is wanted is written there, and the controller makes it so.
 * Kubernetes restarts what does not answer, so `unresponsive` changes nothing.
 */
export function createKubernetesDriver(deps: KubernetesDriverDeps): KubernetesDriver {
  const { type, settings, drain, logger } = deps;
  const listeners: ((workspaceId: string) => void)[] = [];
  const api = openUserSwarms({
    ...deps,
    onChange(name) {
      for (const listener of listeners) listener(workspaceIdOf(name));
    },
  });

  /** From what is known; one that is new, or not ours, is asked for. */
  async function lookUp(name: string): Promise<StoredUserSwarm | undefined> {
    try {
      return api.known(name) ?? (await api.get(name));
    } catch (error) {
      // A refusal to show it says nothing about it.
      if (isRefusal(error)) throw new PlatformUnreachable(error.message, { cause: error });
      throw error;
    }
  }

  async function apply({ object, force }: Apply, stored: StoredUserSwarm | undefined): Promise<RuntimeObservation> {
    const { name } = object.metadata;
    try {
      return observe(await api.apply(object, { force }));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      logger.warn({ err: error, userSwarm: name }, 'a UserSwarm could not be applied');
      return stored === undefined ? absent(error.reason === '' ? 'ApplyFailed' : error.reason) : observe(stored);
    }
  }

  async function bringTo(spec: RuntimeSpec, signal: AbortSignal | undefined): Promise<RuntimeObservation> {
    const stored = await lookUp(userSwarmName(spec.workspaceId));
    if (stored !== undefined && !isOurs(stored)) return absent('NameConflict');
    // It is made anew once it is gone.
    if (stored !== undefined && isTerminating(stored)) return observe(stored);
    const plan = planApply(type, settings, spec, stored);
    if (plan === undefined) return stored === undefined ? absent('ApplyFailed') : observe(stored);
    if (await drain?.raised()) return stored === undefined ? absent(DRAINING) : observe(stored);
    if (stored === undefined) signal?.throwIfAborted();
    return apply(plan, stored);
  }

  /** @returns true once it is gone. */
  async function removeSwarm(name: string): Promise<boolean> {
    const seen = api.known(name);
    if (seen !== undefined && isTerminating(seen)) return false;
    const stored = await api.get(name);
    if (stored === undefined) return true;
    if (!isOurs(stored)) {
      logger.warn({ userSwarm: name }, 'a UserSwarm that is not ours was left alone');
      return true;
    }
    const { uid, resourceVersion } = stored.metadata;
    if (isTerminating(stored) || uid === undefined || resourceVersion === undefined) return false;
    try {
      return !(await api.delete(name, { uid, resourceVersion }));
    } catch (error) {
      // It changed since it was looked at.
      if (isConflict(error)) return false;
      throw error;
    }
  }

  return {
    reportsLiveness: true,
    ensure: (spec, { signal }) => bringTo(spec, signal),
    async peek(specs) {
      if (!api.synced()) throw new PlatformUnreachable('the UserSwarms are not known');
      const seen = new Map<string, RuntimeObservation>();
      for (const spec of specs) {
        const stored = api.known(userSwarmName(spec.workspaceId));
        if (stored === undefined) continue;
        const outdated = !isTerminating(stored) && planApply(type, settings, spec, stored) !== undefined;
        seen.set(spec.workspaceId, { ...observe(stored), ...(outdated && { outdated }) });
      }
      return seen;
    },
    remove: (workspaceId) => removeSwarm(userSwarmName(workspaceId)),
    onChange(listener) {
      listeners.push(listener);
    },
    close: api.close,
  };
}
