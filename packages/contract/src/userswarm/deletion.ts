/** Finalizers and messages while a UserSwarm is deleted. */

/** Finalizers by framework: uswarm-controller, and Metacontroller. */
export const FRAMEWORK_FINALIZERS = [
  'uswarm.dev/userswarm-controller',
  'metacontroller.io/compositecontroller-userswarm-controller',
] as const;

/** Kubernetes removes them when the objects that depend on the object are deleted or orphaned. */
const KUBERNETES_FINALIZERS: ReadonlySet<string> = new Set(['foregroundDeletion', 'orphan']);

/** Finalizers from other programs. @param own finalizers whose remover the caller knows */
export const foreignFinalizers = (
  { finalizers = [] }: { finalizers?: string[] },
  own: readonly string[] = [],
): string[] => finalizers.filter((finalizer) => !KUBERNETES_FINALIZERS.has(finalizer) && !own.includes(finalizer));

/**
 * Message for a UserSwarm that is being deleted.
 *
 * @param remaining the pods and children that exist
 * @param foreign the UserSwarm's foreign finalizers
 */
export function deletionMessage(remaining: readonly string[], foreign: readonly string[]): string {
  if (remaining.length > 0) return `Waiting for the deletion of ${remaining.join(', ')}.`;
  const waits = foreign.length === 0 ? '' : ` Waits for the finalizers: ${foreign.join(', ')}.`;
  return `All objects are deleted.${waits}`;
}
