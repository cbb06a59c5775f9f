/** Any Kubernetes object, as JSON. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** Used metadata fields. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
}

/** A status condition. `status` is `True`, `False` or `Unknown`. */
export interface StatusCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  /** RFC 3339, in whole seconds. */
  lastTransitionTime?: string;
}

/** Field ownership, as managed by the API server. */
export interface ManagedFields {
  manager?: string;
  operation?: string;
  subresource?: string;
  time?: string;
  fieldsV1?: object;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}
