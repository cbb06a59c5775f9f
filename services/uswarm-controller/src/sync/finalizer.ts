import { FRAMEWORK_FINALIZERS } from '@uswarm/contract/userswarm';
import type { KubeClient, KubernetesObject, Resource } from '@uswarm/kube-client';

/** Blocks a UserSwarm's deletion until its children are deleted. */
export const FINALIZER: string = FRAMEWORK_FINALIZERS[0];
/** Set by `--cascade=orphan`. The UserSwarm is left alone until the garbage collector has removed the owner references. */
export const ORPHAN_FINALIZER = 'orphan';

type Patch = Pick<KubeClient, 'mergePatch'>;

export const hasFinalizer = ({ metadata }: Pick<KubernetesObject, 'metadata'>, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) ?? false;

/** @throws KubeError `Conflict` if the object changed */
export const addFinalizer = (client: Patch, resource: Resource, object: KubernetesObject, signal: AbortSignal) =>
  setFinalizers(client, resource, object, [...(object.metadata.finalizers ?? []), FINALIZER], signal);

/** @throws KubeError `Conflict` if the object changed */
export const removeFinalizer = (client: Patch, resource: Resource, object: KubernetesObject, signal: AbortSignal) =>
  removeFinalizers(client, resource, object, [FINALIZER], signal);

/** Removes the finalizers in `names`. @throws KubeError `Conflict` if the object changed */
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
