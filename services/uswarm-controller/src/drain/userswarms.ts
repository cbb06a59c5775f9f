import { KEEP_LABEL, type KubernetesObject, USERSWARMS } from '@uswarm/contract/userswarm';
import { isConflict, isNotFound, type KubeClient, type Resource } from '@uswarm/kube-client';
import { COMPOSITE_CONTROLLER } from '../resources.js';
import { FINALIZER, removeFinalizers } from '../sync/finalizer.js';

/** What keeps a UserSwarm until its children are gone: our own finalizer, and Metacontroller's in our place. */
const OUR_FINALIZERS: readonly string[] = [FINALIZER, `metacontroller.io/compositecontroller-${COMPOSITE_CONTROLLER}`];

/** Set by a deletion in the foreground: Kubernetes takes it off once the children are gone. */
export const GARBAGE_COLLECTOR_FINALIZER = 'foregroundDeletion';

const PAGE = 500;
/** Requests under way at once. */
const CONCURRENCY = 16;

export type DrainClient = Pick<KubeClient, 'get' | 'list' | 'delete' | 'mergePatch'>;

/** All objects of a kind; none where the kind or the namespace is not there. */
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
    // The definition went first, and with it every UserSwarm.
    if (isNotFound(error)) return [];
    throw error;
  }
  return items;
}

export const listUserSwarms = (client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<KubernetesObject[]> =>
  listAll(client, USERSWARMS, signal);

/** Somebody wants it to outlive uswarm. */
export const isKept = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[KEEP_LABEL] === 'true';

export const isTerminating = ({ metadata }: KubernetesObject): boolean => metadata.deletionTimestamp !== undefined;

export const hasOurFinalizer = ({ metadata }: KubernetesObject): boolean =>
  metadata.finalizers?.some((name) => OUR_FINALIZERS.includes(name)) ?? false;

/** What others hold it by. */
export const foreignFinalizers = ({ metadata }: KubernetesObject): string[] =>
  (metadata.finalizers ?? []).filter((name) => !OUR_FINALIZERS.includes(name));

/** Deletes the very object that was seen; one that is gone or was replaced is left to the next look. */
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

/** Takes our finalizers and `also` off, of the object as it is now: the one that was seen may have changed. */
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
    // It changed meanwhile: the next look sees it.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Does `work` for each item, some at once; goes on after a failure and throws the first at the end. */
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
