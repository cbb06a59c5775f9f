export type { KubeConfig } from '@kubernetes/client-node';
export {
  type ApplyOptions,
  createKubeClient,
  type DeleteOptions,
  type KubeClient,
  type ListOptions,
} from './client.js';
export { createCredentials, type Credentials } from './credentials.js';
export { isAlreadyExists, isConflict, isDenied, isNotFound, isRefusal, KubeError } from './errors.js';
export { DEFAULT_TIMING, type Informer, type InformerFault, type InformerTiming, startInformer } from './informer.js';
export { loadKubeConfig, loadOperatorKubeConfig } from './kube-config.js';
export type { KubernetesObject, ManagedFields, OwnerReference, StatusCondition } from '@uswarm/kube-types';
export { apiVersionOf, type ObjectName, type Resource } from './resource.js';
export { type Change, createStore, keyOf, type Store } from './store.js';
export { type PodLogOptions, readPodLog } from './pod-log.js';
export { createWatch, type Watch } from './watch.js';
