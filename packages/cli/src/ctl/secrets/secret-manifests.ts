import type { KubernetesObject, Resource } from '@uswarm/kube-client';
import { PRODUCTION_SECRETS, type ProductionSecret } from './production-secrets.js';
import type { InputName, InputValues } from './secret-inputs.js';

export const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' };
export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };

/** Where the release is, or will be, installed. */
export interface Target {
  release: string;
  namespace: string;
  runtimeNamespace: string;
  /** Secrets that something else creates. */
  skip: readonly string[];
}

export const wantedSecrets = ({ skip }: Pick<Target, 'skip'>): ProductionSecret[] =>
  PRODUCTION_SECRETS.filter(({ name }) => !skip.includes(name));

export const namespacesOf = ({ inRuntimes }: ProductionSecret, target: Target): string[] =>
  inRuntimes === true ? [target.namespace, target.runtimeNamespace] : [target.namespace];

export function secretObject({ name, type = 'Opaque' }: ProductionSecret, namespace: string): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, type } as KubernetesObject;
}

/** The chart creates the runtime namespace, so Helm must be able to adopt it. */
export function namespaceObject(name: string, { release, namespace, runtimeNamespace }: Target): KubernetesObject {
  const adopted = {
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': namespace },
  };
  const metadata = { name, ...(name === runtimeNamespace && adopted) };
  return { apiVersion: 'v1', kind: 'Namespace', metadata } as KubernetesObject;
}

/** All Secrets with their values, as one list that `kubectl`, `kubeseal` and `sops` read. */
export function secretList(target: Target, inputs: InputValues): object {
  return listOf(target, (secret) => secret.values(inputs));
}

/** The same list with names in place of the values. */
export function describedList(target: Target): object {
  return listOf(target, (secret) => {
    const names = secret.inputs.map((name) => [name, `<USWARM_${name}>`] as const);
    const values = secret.values(Object.fromEntries(names) as Record<InputName, string>);
    const shown = (value: string): string => {
      const used = names.filter(([, mark]) => value.includes(mark)).map(([, mark]) => mark);
      return used.length === 0 ? '<generated>' : used.join(' ');
    };
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, shown(value)]));
  });
}

function listOf(target: Target, valuesOf: (secret: ProductionSecret) => Record<string, string>): object {
  const items = wantedSecrets(target).flatMap((secret) => {
    const stringData = valuesOf(secret);
    return namespacesOf(secret, target).map((namespace) => ({ ...secretObject(secret, namespace), stringData }));
  });
  return { apiVersion: 'v1', kind: 'List', items };
}
