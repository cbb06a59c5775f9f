import type { KubernetesObject } from '@uswarm/kube-types';

/** Data in the ConfigMap that marks an uninstall in progress. Times are ISO 8601. */
export interface DrainFlagData {
  /** The Job that holds the flag, across restarts of its pod. */
  run: string;
  startedAt: string;
  /** Expiry. The holder renews it. */
  expiresAt: string;
}

/** Lifetime of flags of release 0.2, which have no expiry, in milliseconds. */
const UNDATED_FLAG_MS = 10 * 60_000;

/** When the flag expires, in milliseconds since the epoch; 0 without a valid time. */
export function drainFlagExpiry(flag: KubernetesObject): number {
  const { expiresAt = '' } = (flag['data'] ?? {}) as Partial<DrainFlagData>;
  const expiry = Date.parse(expiresAt);
  if (!Number.isNaN(expiry)) return expiry;
  const created = Date.parse(flag.metadata.creationTimestamp ?? '');
  return Number.isNaN(created) ? 0 : created + UNDATED_FLAG_MS;
}
