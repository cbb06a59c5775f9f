/** What the deletion of a UserSwarm waits for. */

/** The finalizers of the two frameworks: of uswarm-controller, and of Metacontroller. */
export const FRAMEWORK_FINALIZERS = [
  'uswarm.dev/userswarm-controller',
  'metacontroller.io/compositecontroller-userswarm-controller',
] as const;

/** Kubernetes removes them when the objects that depend on the object are deleted or orphaned. */
const KUBERNETES_FINALIZERS: ReadonlySet<string> = new Set(['foregroundDeletion', 'orphan']);

/** The finalizers of other programs. @param own the finalizers that the caller knows who removes */
export const foreignFinalizers = (
  { finalizers = [] }: { finalizers?: string[] },
  own: readonly string[] = [],
): string[] => finalizers.filter((finalizer) => !KUBERNETES_FINALIZERS.has(finalizer) && !own.includes(finalizer));

/**
 * The message of a UserSwarm that is being deleted.
 *
 * @param remaining the pods and children that exist
 * @param foreign the foreign finalizers of the UserSwarm
 */
export function deletionMessage(remaining: readonly string[], foreign: readonly string[]): string {
  if (remaining.length > 0) return `Waiting for the deletion of ${remaining.join(', ')}.`;
  const waits = foreign.length === 0 ? '' : ` Waits for the finalizers: ${foreign.join(', ')}.`;
  return `All objects are deleted.${waits}`;
}
