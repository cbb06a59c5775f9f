import type { KubernetesObject, UserSwarmStatus } from '@uswarm/contract/userswarm';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { NamespaceScope } from '../caches/namespace-scope.js';
import { FINALIZER, hasFinalizer } from './finalizer.js';

/** Why it is not known what children there are; undefined where it is, or where there can be none. */
export function cannotObserveReason(
  parent: KubernetesObject,
  scope: Pick<NamespaceScope, 'name' | 'state'> | undefined,
): string | undefined {
  if (scope !== undefined) {
    return scope.state() === 'denied' ? `what is in namespace ${scope.name} may not be read` : undefined;
  }
  return mayHaveChildren(parent)
    ? `namespace ${runtimeNamespaceOf(parent)} is not one of the RUNTIME_NAMESPACES of the controller, so what is in it is left alone`
    : undefined;
}

/**
 * Nothing is made for one that we do not hold, or that was refused from the start: that one's status
 * says Error and nothing of a runtime.
 */
function mayHaveChildren(parent: KubernetesObject): boolean {
  const { image, address, phase } = (parent['status'] ?? {}) as Partial<UserSwarmStatus>;
  return image !== undefined || address !== undefined || (hasFinalizer(parent, FINALIZER) && phase !== 'Error');
}
