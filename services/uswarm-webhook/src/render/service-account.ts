import type { KubernetesObject } from '@uswarm/kube-types';
import { childLabels } from './labels.js';
import type { ChildIdentity } from './child-identity.js';

/** A ServiceAccount without RBAC rules and without a token. */
export function renderServiceAccount({ name, namespace, userSwarm }: ChildIdentity): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace, labels: childLabels(userSwarm) },
    automountServiceAccountToken: false,
  };
}
