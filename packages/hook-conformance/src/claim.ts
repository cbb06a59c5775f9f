import { LABEL } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import type { ModelApiServer } from './api-server.js';
import { controllerOf, isTerminating, refOf } from './objects.js';

/**
 * The children of `parent` as Metacontroller selects them. It adopts objects that have the label and no controller, and
 * releases objects that it controls without the label. Later requests do not contain a released child.
 */
export function claimChildren(
  api: ModelApiServer,
  by: string,
  parent: KubernetesObject,
  candidates: readonly KubernetesObject[],
): KubernetesObject[] {
  return candidates.filter((child) => {
    const owner = controllerOf(child);
    const labelled = child.metadata.labels?.[LABEL.controllerUid] === parent.metadata.uid;
    if (owner === parent.metadata.uid) {
      if (!labelled && !isTerminating(parent)) changeOwner(api, by, child, undefined);
      return labelled;
    }
    if (owner !== undefined || !labelled || isTerminating(parent) || isTerminating(child)) return false;
    return changeOwner(api, by, child, parent);
  });
}

/** @returns false if the object was replaced meanwhile */
function changeOwner(
  api: ModelApiServer,
  by: string,
  child: KubernetesObject,
  owner: KubernetesObject | undefined,
): boolean {
  const live = api.get(refOf(child));
  if (live === undefined || live.metadata.uid !== child.metadata.uid) return false;
  const { ownerReferences: _before, ...metadata } = live.metadata;
  const ownerReferences = owner === undefined ? [] : [controllerReference(owner)];
  api.update(by, { ...live, metadata: { ...metadata, ownerReferences } });
  return true;
}

export const controllerReference = ({ apiVersion, kind, metadata }: KubernetesObject) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});
