import { runtimeSelector } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { childLabels } from './labels.js';
import type { ChildIdentity } from './child-identity.js';

/** The Service for the gRPC endpoint. */
export function renderService({ name, namespace, userSwarm }: ChildIdentity, port: number): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: childLabels(userSwarm) },
    spec: {
      type: 'ClusterIP',
      selector: runtimeSelector(userSwarm),
      // All defaults are explicit, because an apply strategy may otherwise report a difference in lists.
      ports: [{ name: 'grpc', protocol: 'TCP', appProtocol: 'kubernetes.io/h2c', port, targetPort: port }],
    },
  };
}
