import { DEFAULT_RUNTIME_NAMESPACE, type UserSwarm } from '@uswarm/contract/userswarm';
import {
  type Change,
  createStore,
  type Informer,
  type KubernetesObject,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import { NAMESPACES } from '../resources.js';
import type { PodWarningsDeps } from './pod-warnings.js';
import { createNamespaceScope, type NamespaceScope, type StartOptions } from './namespace-scope.js';

/** The informer caches of all watched resources. */
export interface Caches {
  readonly parents: Store;
  readonly namespaces: Store;
  /** Undefined outside the runtime namespaces. */
  scope(namespace: string): NamespaceScope | undefined;
  /**
   * Whether all caches are synced and their watches are alive: UserSwarms, Namespaces, and the contents of each
   * existing runtime namespace.
   */
  synced(): boolean;
  stop(): Promise<void>;
}

export interface CachesDeps {
  resource: Resource;
  runtimeNamespaces: readonly string[];
  start: (options: Omit<StartOptions, 'namespace' | 'labelSelector'> & Partial<StartOptions>) => Informer;
  onParent: (change: Change) => void;
  onChild: (change: Change) => void;
  onPod: (change: Change) => void;
  /** Lists Warning Events about pods. Default: none */
  listWarnings?: PodWarningsDeps['list'];
  /** Called when the namespace is created, changed or deleted, or when the state of its caches changes. */
  onNamespace: (name: string) => void;
}

/** The children's namespace, also if the schema has not set the default. */
export const runtimeNamespaceOf = (parent: KubernetesObject): string => {
  const { placement } = (parent['spec'] ?? {}) as Partial<UserSwarm['spec']>;
  return placement?.runtimeNamespace ?? DEFAULT_RUNTIME_NAMESPACE;
};

export function startCaches(deps: CachesDeps): Caches {
  const { resource, start, onParent, onChild, onPod, onNamespace, listWarnings = async () => [] } = deps;
  const scopes = new Map(
    deps.runtimeNamespaces.map((name) => {
      const onState = (): void => onNamespace(name);
      return [name, createNamespaceScope({ name, start, onChild, onPod, listWarnings, onState })] as const;
    }),
  );
  const parents = createStore({ indexBy: runtimeNamespaceOf, onChange: onParent });
  const namespaces = createStore({
    onChange: ({ before, after }) => {
      const name = (after ?? before)?.metadata.name ?? '';
      updatePresence(name);
      if (before === undefined || after === undefined || phaseOf(before) !== phaseOf(after)) onNamespace(name);
    },
  });
  const updatePresence = (name: string): void => {
    if (namespaceInformer.listed()) scopes.get(name)?.setPresence(namespaces.get(name) !== undefined);
  };
  const onState = (): void => {
    for (const name of scopes.keys()) updatePresence(name);
  };
  const namespaceInformer: Informer = start({ resource: NAMESPACES, store: namespaces, onState });
  const parentInformer = start({ resource, store: parents, onState: () => {} });
  return {
    parents,
    namespaces,
    scope: (namespace) => scopes.get(namespace),
    synced: () => [namespaceInformer, parentInformer, ...scopes.values()].every((part) => part.alive()),
    async stop() {
      await Promise.all([namespaceInformer, parentInformer, ...scopes.values()].map((part) => part.stop()));
    },
  };
}

const phaseOf = (namespace: KubernetesObject): unknown =>
  (namespace['status'] as { phase?: unknown } | undefined)?.phase;
