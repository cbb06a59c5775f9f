import type { KubernetesObject } from '@uswarm/contract/userswarm';
import type { KubeClient, Resource } from '@uswarm/kube-client';

/** Keeps a UserSwarm until its children are gone. */
export const FINALIZER = 'uswarm.dev/userswarm-controller';
/** Set by `--cascade=orphan`: until the garbage collector took our owner references off, we keep out of it. */
export const ORPHAN_FINALIZER = 'orphan';

type Patch = Pick<KubeClient, 'mergePatch'>;

export const hasFinalizer = ({ metadata }: Pick<KubernetesObject, 'metadata'>, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) ?? false;

/** @throws KubeError `Conflict` if somebody wrote the object meanwhile. */
export const addFinalizer = (client: Patch, resource: Resource, object: KubernetesObject, signal: AbortSignal) =>
  setFinalizers(client, resource, object, [...(object.metadata.finalizers ?? []), FINALIZER], signal);

/** @throws KubeError `Conflict` if somebody wrote the object meanwhile. */
export const removeFinalizer = (client: Patch, resource: Resource, object: KubernetesObject, signal: AbortSignal) =>
  removeFinalizers(client, resource, object, [FINALIZER], signal);

/** Takes off those of `names` that it has. @throws KubeError `Conflict` if somebody wrote the object meanwhile. */
export const removeFinalizers = (
  client: Patch,
  resource: Resource,
  object: KubernetesObject,
  names: readonly string[],
  signal: AbortSignal,
) => {
  const others = (object.metadata.finalizers ?? []).filter((name) => !names.includes(name));
  return setFinalizers(client, resource, object, others, signal);
};

function setFinalizers(
  client: Patch,
  resource: Resource,
  { metadata }: KubernetesObject,
  finalizers: string[],
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const { uid, resourceVersion } = metadata;
  return client.mergePatch(resource, metadata, { metadata: { uid, resourceVersion, finalizers } }, signal);
}
