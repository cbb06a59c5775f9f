import type { KubernetesObject } from '@uswarm/contract/userswarm';

/** Why an API server refuses the object; undefined if it takes it. Only what a merge can get wrong here. */
export function invalidity({ kind, spec }: KubernetesObject): string | undefined {
  if (kind !== 'Service') return undefined;
  const { ports = [] } = (spec ?? {}) as { ports?: { name?: string }[] };
  const names = ports.map(({ name = '' }) => name);
  const at = names.findIndex((name, index) => names.indexOf(name) < index);
  return at < 0 ? undefined : `spec.ports[${at}].name: Duplicate value: "${names[at]}"`;
}

/** Kinds that are counted up when their spec changes; Services and ServiceAccounts have no generation. */
export const HAS_GENERATION: ReadonlySet<string> = new Set(['UserSwarm', 'Deployment', 'Pod', 'ReplicaSet']);
