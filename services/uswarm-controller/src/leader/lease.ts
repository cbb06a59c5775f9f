import { isAlreadyExists, isConflict, isNotFound, type KubeClient, type KubernetesObject } from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import { LEASES } from '../resources.js';

export interface LeaseDeps {
  client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  namespace: string;
  name: string;
  /** Identity of this process; must be unique. */
  identity: string;
  /** Seconds after the last renewal after which another process may acquire the lease. */
  durationS: number;
  clock: Clock;
  /** Monotonic milliseconds. */
  elapsed?: () => number;
}

export interface Lease {
  /** @returns whether this process holds the lease. @throws KubeError, or a connection error, if that is unknown */
  tryAcquireOrRenew(signal: AbortSignal): Promise<boolean>;
  /** Clears the holder, if it is this process, so that another one can acquire the lease immediately. */
  release(signal: AbortSignal): Promise<void>;
}

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

const specOf = (lease: KubernetesObject): LeaseSpec => (lease['spec'] ?? {}) as LeaseSpec;
const microTime = (time: Date): string => time.toISOString().replace(/Z$/, '000Z');

/**
 * A `coordination.k8s.io` Lease. Another holder's lease has expired when it was observed unchanged for its duration.
 * Its timestamps are not compared, because machine clocks differ.
 */
export function createLease(deps: LeaseDeps): Lease {
  const { client, namespace, name, identity, clock, elapsed = () => performance.now() } = deps;
  let last: { lease: KubernetesObject; seenAt: number } | undefined;

  const see = (lease: KubernetesObject): KubernetesObject => {
    if (last?.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) last = { lease, seenAt: elapsed() };
    return lease;
  };
  const isFree = (lease: KubernetesObject): boolean => {
    const { holderIdentity = '', leaseDurationSeconds = 0 } = specOf(lease);
    const since = elapsed() - (last?.seenAt ?? elapsed());
    return holderIdentity === '' || since > leaseDurationSeconds * 1_000;
  };
  const take = async (lease: KubernetesObject, signal: AbortSignal): Promise<boolean> => {
    const current = specOf(lease);
    const mine = current.holderIdentity === identity;
    if (!mine && !isFree(lease)) return false;
    const spec = claim(deps, mine ? current : { leaseTransitions: (current.leaseTransitions ?? 0) + 1 });
    try {
      see(await client.replace(LEASES, { ...lease, spec }, undefined, signal));
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      last = undefined;
      return false;
    }
  };
  return {
    async tryAcquireOrRenew(signal) {
      // As the known holder, renew with one request.
      if (last !== undefined && specOf(last.lease).holderIdentity === identity && (await take(last.lease, signal))) {
        return true;
      }
      try {
        return await take(see(await client.get(LEASES, { namespace, name }, signal)), signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      const metadata = { namespace, name };
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: claim(deps, {}) };
      try {
        see(await client.create(LEASES, lease, signal));
        return true;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        return false;
      }
    },
    async release(signal) {
      if (last === undefined || specOf(last.lease).holderIdentity !== identity) return;
      const giveBack = (lease: KubernetesObject): Promise<KubernetesObject> => {
        const cleared = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now()) };
        return client.replace(LEASES, { ...lease, spec: { ...specOf(lease), ...cleared } }, undefined, signal);
      };
      try {
        await giveBack(last.lease);
      } catch (error) {
        if (!isConflict(error)) throw error;
        // A renewal that timed out here may have been written.
        const current = await client.get(LEASES, { namespace, name }, signal);
        if (specOf(current).holderIdentity === identity) await giveBack(current);
      }
      last = undefined;
    },
  };
}

function claim({ identity, durationS, clock }: LeaseDeps, { acquireTime, leaseTransitions = 0 }: LeaseSpec): LeaseSpec {
  const now = microTime(clock.now());
  return {
    holderIdentity: identity,
    leaseDurationSeconds: durationS,
    acquireTime: acquireTime ?? now,
    renewTime: now,
    leaseTransitions,
  };
}
