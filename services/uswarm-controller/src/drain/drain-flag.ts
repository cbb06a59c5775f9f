import { type DrainFlagData, LABEL } from '@uswarm/contract/userswarm';
import { isNotFound, type KubeClient, type KubernetesObject } from '@uswarm/kube-client';
import type { Clock } from '@uswarm/service-kit';
import { CONFIG_MAPS } from '../resources.js';
import { DrainError } from './drain-error.js';

/** Prevents orchestrators from creating UserSwarms while the drain runs. */
export interface DrainFlag {
  /**
   * Raises the flag, or takes it over from the same Job's earlier pod.
   * @returns milliseconds since the drain began
   */
  raise(signal: AbortSignal): Promise<number>;
  /** Renews the expiry when it is due. @throws DrainError if the flag was deleted or belongs to another drain */
  hold(signal: AbortSignal): Promise<void>;
  /** Extends the flag by `LAST_MS`, until the release is removed. */
  complete(signal: AbortSignal): Promise<void>;
  /** Deletes the flag, so that orchestrators write again. */
  lower(): Promise<void>;
}

export interface DrainFlagDeps {
  client: Pick<KubeClient, 'get' | 'apply' | 'mergePatch' | 'delete'>;
  place: { name: string; namespace: string };
  /** Identifies the Job across restarts of its pod. */
  run: string;
  clock: Clock;
  /** Monotonic milliseconds. */
  elapsed?: () => number;
}

const LABELS = { [LABEL.partOf]: 'uswarm', [LABEL.component]: 'drain' };
/** Milliseconds until the flag expires without a renewal. Usually longer than a replacement pod takes to start. */
const EXPIRY_MS = 60_000;
const RENEW_MS = 10_000;
/** Milliseconds in which Helm deletes the orchestrator after the drain. */
const LAST_MS = 60_000;

export function createDrainFlag(deps: DrainFlagDeps): DrainFlag {
  const { client, place, run, clock, elapsed = () => performance.now() } = deps;
  let renewedAt = -Infinity;

  const expiry = (ms: number): string => new Date(clock.now().getTime() + ms).toISOString();

  async function extend(ms: number, signal: AbortSignal): Promise<void> {
    await client.mergePatch(CONFIG_MAPS, place, { data: { expiresAt: expiry(ms) } }, signal);
    renewedAt = elapsed();
  }

  async function find(signal?: AbortSignal): Promise<KubernetesObject | undefined> {
    try {
      return await client.get(CONFIG_MAPS, place, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function begin(signal: AbortSignal): Promise<void> {
    const data: DrainFlagData = { run, startedAt: clock.now().toISOString(), expiresAt: expiry(EXPIRY_MS) };
    const metadata = { ...place, labels: LABELS };
    // Server-side apply both creates and takes over, and RBAC can limit it to this name.
    const flag = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    await client.apply(CONFIG_MAPS, flag, { force: true }, signal);
    renewedAt = elapsed();
  }

  return {
    async raise(signal) {
      const found = await find(signal);
      const startedAt =
        found === undefined || dataOf(found).run !== run ? NaN : Date.parse(dataOf(found).startedAt ?? '');
      if (Number.isNaN(startedAt)) {
        await begin(signal);
        return 0;
      }
      await extend(EXPIRY_MS, signal);
      return Math.max(0, clock.now().getTime() - startedAt);
    },
    async hold(signal) {
      const found = await find(signal);
      if (found === undefined || dataOf(found).run !== run) {
        const what = found === undefined ? 'was deleted' : 'belongs to another drain';
        throw new DrainError(`ConfigMap ${place.namespace}/${place.name} ${what}: uswarm stays installed`);
      }
      if (elapsed() - renewedAt >= RENEW_MS) await extend(EXPIRY_MS, signal);
    },
    complete: (signal) => extend(LAST_MS, signal),
    async lower() {
      const found = await find();
      if (found === undefined || dataOf(found).run !== run) return;
      const { uid = '', name, namespace } = found.metadata;
      await client.delete(CONFIG_MAPS, { name, namespace }, { uid, propagation: 'Background' });
    },
  };
}

const dataOf = (flag: KubernetesObject): Partial<DrainFlagData> => (flag['data'] ?? {}) as Partial<DrainFlagData>;
