import type { KubernetesObject } from './hook.js';

/** Contents of the ConfigMap that marks a removal of the release in progress. Times are ISO 8601. */
export interface DrainFlagData {
  /** Identifies the Job that holds the flag, across restarts of its pod. */
  run: string;
  startedAt: string;
  /** The flag is void from then on. Its holder moves this forward. */
  expiresAt: string;
}

/** Release 0.2 wrote flags without an expiry and never renewed them; none was needed for longer than this, in ms. */
const UNDATED_FLAG_MS = 10 * 60_000;

/** When the flag becomes void, in milliseconds since the epoch; 0 without any usable time. */
export function drainFlagExpiry(flag: KubernetesObject): number {
  const { expiresAt = '' } = (flag['data'] ?? {}) as Partial<DrainFlagData>;
  const expiry = Date.parse(expiresAt);
  if (!Number.isNaN(expiry)) return expiry;
  const created = Date.parse(flag.metadata.creationTimestamp ?? '');
  return Number.isNaN(created) ? 0 : created + UNDATED_FLAG_MS;
}
