import {
  CHILD_GROUPS,
  type ChildGroup,
  CONTROLLER_MANAGER,
  LABEL,
  RUNTIME_COMPONENT,
} from '@uswarm/contract/userswarm';
import {
  type Change,
  createStore,
  type Informer,
  type KubernetesObject,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import { foreignManagers } from './prune-foreign-fields.js';
import { CHILD_RESOURCES, PODS } from '../resources.js';
import { childChanged, podChanged, isReadyPod } from './predicates.js';
import { createPodWarnings, type PodWarnings, type PodWarningsDeps } from './pod-warnings.js';

/**
 * `absent`: the namespace does not exist, so it is empty. `denied`: we may not read the namespace, so its contents are
 * unknown.
 */
export type ScopeState = 'loading' | 'ready' | 'denied' | 'absent';

/** The caches of one runtime namespace. A failure in one namespace does not affect the others. */
export interface NamespaceScope {
  readonly name: string;
  readonly children: Readonly<Record<ChildGroup, Store>>;
  readonly pods: Store;
  readonly warnings: Pick<PodWarnings, 'of'>;
  state(): ScopeState;
  /** Whether all of its watches are running, or were until recently. True if the namespace does not exist. */
  alive(): boolean;
  /** Called with whether the namespace exists; undefined while that is unknown. */
  setPresence(present: boolean | undefined): void;
  stop(): Promise<void>;
}

export interface StartOptions {
  resource: Resource;
  namespace: string;
  labelSelector: string;
  store: Store;
  onState: () => void;
}

export interface NamespaceScopeDeps {
  name: string;
  start: (options: StartOptions) => Informer;
  /** Called for changes that pass the predicate. */
  onChild: (change: Change) => void;
  onPod: (change: Change) => void;
  listWarnings: PodWarningsDeps['list'];
  /** Called when `state` may have changed. */
  onState: () => void;
}

const SELECTED = { children: LABEL.controllerUid, pods: `${LABEL.name}=${RUNTIME_COMPONENT}` };

/** The controlling owner's uid. */
export const ownerUid = ({ metadata }: KubernetesObject): string | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;

/** The pod without its spec, except its node: the spec is the Deployment's, and the larger part of a pod. */
function withoutPodSpec(pod: KubernetesObject): KubernetesObject {
  const { nodeName } = (pod['spec'] ?? {}) as { nodeName?: string };
  return { ...pod, spec: nodeName === undefined ? {} : { nodeName } };
}

/** The child with `managedFields` only for fields that others set in its spec. */
function withForeignManagers(child: KubernetesObject): KubernetesObject {
  const { managedFields: _all, ...metadata } = child.metadata;
  const managedFields = foreignManagers(child, CONTROLLER_MANAGER);
  return { ...child, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } };
}

export function createNamespaceScope(deps: NamespaceScopeDeps): NamespaceScope {
  const { name, start, onChild, onPod, onState } = deps;
  const warnings = createPodWarnings({ list: deps.listWarnings, onFound: (pod) => onPod({ after: pod }) });
  const hasReadyPod = ({ metadata }: KubernetesObject): boolean =>
    pods.indexed(metadata.labels?.[LABEL.instance] ?? '').some(isReadyPod);
  const childStore = (): Store =>
    createStore({
      indexBy: ownerUid,
      keepManagedFields: true,
      reduce: withForeignManagers,
      onChange: (change) => {
        if (childChanged(change, hasReadyPod)) onChild(change);
      },
    });
  const children = Object.fromEntries(CHILD_GROUPS.map((group) => [group, childStore()])) as Record<ChildGroup, Store>;
  const pods = createStore({
    indexBy: ({ metadata }) => metadata.labels?.[LABEL.instance],
    reduce: withoutPodSpec,
    onChange: (change) => {
      warnings.changed(change);
      if (podChanged(change)) onPod(change);
    },
  });
  let presence: boolean | undefined;
  let informers: Informer[] = [];
  let stopping: Promise<unknown> = Promise.resolve();

  const stop = (): void => {
    const stopped = informers.map((informer) => informer.stop());
    informers = [];
    stopping = Promise.all([stopping, ...stopped]);
  };
  const open = (): void => {
    const begin = (resource: Resource, labelSelector: string, store: Store): Informer =>
      start({ resource, namespace: name, labelSelector, store, onState });
    informers = [
      ...CHILD_GROUPS.map((group) => begin(CHILD_RESOURCES[group], SELECTED.children, children[group])),
      begin(PODS, SELECTED.pods, pods),
    ];
  };
  return {
    name,
    children,
    pods,
    warnings,
    state() {
      if (presence === false) return 'absent';
      const states = informers.map((informer) => informer.state());
      if (states.includes('denied')) return 'denied';
      return informers.length === 0 || states.includes('loading') ? 'loading' : 'ready';
    },
    alive: () => presence === false || (informers.length > 0 && informers.every((informer) => informer.alive())),
    setPresence(present) {
      if (present === presence || present === undefined) return;
      presence = present;
      if (present) open();
      else {
        stop();
        for (const store of [...Object.values(children), pods]) store.clear();
      }
      onState();
    },
    async stop() {
      warnings.stop();
      stop();
      await stopping;
    },
  };
}
