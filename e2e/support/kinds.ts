import type {
  CoreV1Event,
  V1ClusterRole,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Deployment,
  V1EndpointSlice,
  V1Ingress,
  V1Job,
  V1Lease,
  V1LimitRange,
  V1Namespace,
  V1NetworkPolicy,
  V1Node,
  V1PersistentVolumeClaim,
  V1Pod,
  V1ReplicaSet,
  V1ResourceQuota,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1ValidatingAdmissionPolicyBinding,
} from '@kubernetes/client-node';
import type { UserSwarm } from '@uswarm/contract/userswarm';

/** An object as plain JSON, with timestamps as strings. */
export type Plain<T> = T extends Date
  ? string
  : T extends (infer Entry)[]
    ? Plain<Entry>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

/** The tests' object types, by kind. */
export interface Kinds {
  ClusterRole: Plain<V1ClusterRole>;
  ConfigMap: Plain<V1ConfigMap>;
  CustomResourceDefinition: Plain<V1CustomResourceDefinition>;
  Deployment: Plain<V1Deployment>;
  EndpointSlice: Plain<V1EndpointSlice>;
  Event: Plain<CoreV1Event>;
  Ingress: Plain<V1Ingress>;
  Job: Plain<V1Job>;
  Lease: Plain<V1Lease>;
  LimitRange: Plain<V1LimitRange>;
  Namespace: Plain<V1Namespace>;
  NetworkPolicy: Plain<V1NetworkPolicy>;
  Node: Plain<V1Node>;
  PersistentVolumeClaim: Plain<V1PersistentVolumeClaim>;
  Pod: Plain<V1Pod>;
  ReplicaSet: Plain<V1ReplicaSet>;
  ResourceQuota: Plain<V1ResourceQuota>;
  Role: Plain<V1Role>;
  RoleBinding: Plain<V1RoleBinding>;
  Secret: Plain<V1Secret>;
  Service: Plain<V1Service>;
  ServiceAccount: Plain<V1ServiceAccount>;
  UserSwarm: UserSwarm;
  ValidatingAdmissionPolicyBinding: Plain<V1ValidatingAdmissionPolicyBinding>;
}
export type Kind = keyof Kinds;

export const API_PATHS: Record<Kind, { prefix: string; plural: string }> = {
  ClusterRole: { prefix: '/apis/rbac.authorization.k8s.io/v1', plural: 'clusterroles' },
  ConfigMap: { prefix: '/api/v1', plural: 'configmaps' },
  CustomResourceDefinition: { prefix: '/apis/apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' },
  Deployment: { prefix: '/apis/apps/v1', plural: 'deployments' },
  EndpointSlice: { prefix: '/apis/discovery.k8s.io/v1', plural: 'endpointslices' },
  Event: { prefix: '/api/v1', plural: 'events' },
  Ingress: { prefix: '/apis/networking.k8s.io/v1', plural: 'ingresses' },
  Job: { prefix: '/apis/batch/v1', plural: 'jobs' },
  Lease: { prefix: '/apis/coordination.k8s.io/v1', plural: 'leases' },
  LimitRange: { prefix: '/api/v1', plural: 'limitranges' },
  Namespace: { prefix: '/api/v1', plural: 'namespaces' },
  NetworkPolicy: { prefix: '/apis/networking.k8s.io/v1', plural: 'networkpolicies' },
  Node: { prefix: '/api/v1', plural: 'nodes' },
  PersistentVolumeClaim: { prefix: '/api/v1', plural: 'persistentvolumeclaims' },
  Pod: { prefix: '/api/v1', plural: 'pods' },
  ReplicaSet: { prefix: '/apis/apps/v1', plural: 'replicasets' },
  ResourceQuota: { prefix: '/api/v1', plural: 'resourcequotas' },
  Role: { prefix: '/apis/rbac.authorization.k8s.io/v1', plural: 'roles' },
  RoleBinding: { prefix: '/apis/rbac.authorization.k8s.io/v1', plural: 'rolebindings' },
  Secret: { prefix: '/api/v1', plural: 'secrets' },
  Service: { prefix: '/api/v1', plural: 'services' },
  ServiceAccount: { prefix: '/api/v1', plural: 'serviceaccounts' },
  UserSwarm: { prefix: '/apis/uswarm.dev/v1alpha1', plural: 'userswarms' },
  ValidatingAdmissionPolicyBinding: {
    prefix: '/apis/admissionregistration.k8s.io/v1',
    plural: 'validatingadmissionpolicybindings',
  },
};

export const apiVersionOf = (kind: Kind): string => API_PATHS[kind].prefix.replace(/^\/apis?\//, '');
