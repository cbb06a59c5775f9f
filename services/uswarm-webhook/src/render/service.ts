import { type KubernetesObject, runtimeSelector } from '@uswarm/contract/userswarm';
import { childLabels } from './labels.js';
import type { ChildIdentity } from './child-identity.js';

/** The gRPC endpoint inside the cluster. spec: supporting §2.3 */
export function renderService({ name, namespace, userSwarm }: ChildIdentity, port: number): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: childLabels(userSwarm) },
    spec: {
      type: 'ClusterIP',
      selector: runtimeSelector(userSwarm),
      // Every default is spelt out: in lists an apply strategy may see a difference otherwise.
      ports: [{ name: 'grpc', protocol: 'TCP', appProtocol: 'kubernetes.io/h2c', port, targetPort: port }],
    },
  };
}
