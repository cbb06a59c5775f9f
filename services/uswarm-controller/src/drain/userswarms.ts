import { FRAMEWORK_FINALIZERS, KEEP_LABEL, USERSWARMS } from '@uswarm/contract/userswarm';
import { isConflict, isNotFound, type KubeClient, type KubernetesObject, type Resource } from '@uswarm/kube-client';
import { removeFinalizers } from '../sync/finalizer.js';

/** The finalizers that block a UserSwarm until its children are deleted: our own, and Metacontroller's. */
const OUR_FINALIZERS: readonly string[] = FRAMEWORK_FINALIZERS;

/** Set by a foreground deletion. Kubernetes removes it when the children are deleted. */
export const GARBAGE_COLLECTOR_FINALIZER = 'foregroundDeletion';

const PAGE = 500;
/** Concurrent requests. */
const CONCURRENCY = 16;

export type DrainClient = Pick<KubeClient, 'get' | 'list' | 'delete' | 'mergePatch'>;

/** Lists all objects by kind; empty if the kind or the namespace does not exist. */
export async function listAll(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  signal: AbortSignal,
  namespace?: string,
): Promise<KubernetesObject[]> {
  const items: KubernetesObject[] = [];
  let continueToken: string | undefined;
  try {
    do {
      const page = await client.list(resource, { namespace, limit: PAGE, continueToken }, signal);
      items.push(...page.items);
      ({ continueToken } = page);
    } while (continueToken !== undefined);
  } catch (error) {
    // The CRD was deleted, and with it every UserSwarm.
    if (isNotFound(error)) return [];
    throw error;
  }
  return items;
}

export const listUserSwarms = (client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<KubernetesObject[]> =>
  listAll(client, USERSWARMS, signal);

/** True if the UserSwarm has the label that keeps it after an uninstall. */
export const isKept = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[KEEP_LABEL] === 'true';

export const isTerminating = ({ metadata }: KubernetesObject): boolean => metadata.deletionTimestamp !== undefined;

export const hasOurFinalizer = ({ metadata }: KubernetesObject): boolean =>
  metadata.finalizers?.some((name) => OUR_FINALIZERS.includes(name)) ?? false;

/** Other controllers' finalizers. */
export const foreignFinalizers = ({ metadata }: KubernetesObject): string[] =>
  (metadata.finalizers ?? []).filter((name) => !OUR_FINALIZERS.includes(name));

/** Deletes the observed object by uid. If it was deleted or replaced, the next pass handles that. */
export async function deleteSeen(
  client: Pick<KubeClient, 'delete'>,
  resource: Resource,
  { metadata }: KubernetesObject,
  propagation: 'Background' | 'Foreground',
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.delete(resource, metadata, { uid: metadata.uid ?? '', propagation }, signal);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Removes our finalizers and `also` from the object's current version. */
export async function releaseUserSwarm(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  { metadata }: KubernetesObject,
  signal: AbortSignal,
  also: readonly string[] = [],
): Promise<void> {
  const names = [...OUR_FINALIZERS, ...also];
  try {
    const live = await client.get(USERSWARMS, metadata, signal);
    if (live.metadata.uid !== metadata.uid || !live.metadata.finalizers?.some((name) => names.includes(name))) return;
    await removeFinalizers(client, USERSWARMS, live, names, signal);
  } catch (error) {
    // It changed: the next pass handles that.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Runs `work` for each item with bounded concurrency. Continues after a failure and throws the first one at the end. */
export async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
