import type { KubernetesObject } from '@uswarm/kube-types';

/** The API server's validation error, or undefined. Checks only fields that a merge can make invalid. */
export function validationError({ kind, spec }: KubernetesObject): string | undefined {
  if (kind !== 'Service') return undefined;
  const { ports = [] } = (spec ?? {}) as { ports?: { name?: string }[] };
  const names = ports.map(({ name = '' }) => name);
  const at = names.findIndex((name, index) => names.indexOf(name) < index);
  return at < 0 ? undefined : `spec.ports[${at}].name: Duplicate value: "${names[at]}"`;
}

/** Kinds with a generation, which a spec change increases. Services and ServiceAccounts have none. */
export const HAS_GENERATION: ReadonlySet<string> = new Set(['UserSwarm', 'Deployment', 'Pod', 'ReplicaSet']);
