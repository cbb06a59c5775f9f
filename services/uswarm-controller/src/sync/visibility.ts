import type { UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { NamespaceScope } from '../caches/namespace-scope.js';
import { FINALIZER, hasFinalizer } from './finalizer.js';

/** Why the children cannot be observed; undefined if they can, or if there cannot be any. */
export function cannotObserveReason(
  parent: KubernetesObject,
  scope: Pick<NamespaceScope, 'name' | 'state'> | undefined,
): string | undefined {
  if (scope !== undefined) {
    return scope.state() === 'denied' ? `the controller may not read namespace ${scope.name}` : undefined;
  }
  return mayHaveChildren(parent)
    ? `namespace ${runtimeNamespaceOf(parent)} is not one of the RUNTIME_NAMESPACES of the controller, so its contents are not managed`
    : undefined;
}

/**
 * No children are created without our finalizer, or for a UserSwarm that was rejected from the start: its phase is Error
 * and its status has no runtime.
 */
function mayHaveChildren(parent: KubernetesObject): boolean {
  const { image, address, phase } = (parent['status'] ?? {}) as Partial<UserSwarmStatus>;
  return image !== undefined || address !== undefined || (hasFinalizer(parent, FINALIZER) && phase !== 'Error');
}
