/** Accepted findings of kube-score. An unused exception fails the tests. */
interface Exception {
  /** Check id: `kube-score list`. */
  check: string;
  /** Object names. Default: all. */
  objects?: readonly string[];
  /** Text in the finding. Default: any. */
  says?: string;
  /** Value files. Default: all. */
  scenarios?: RegExp;
  reason: string;
}

const THIRD_PARTY = ['searxng', 'uswarm-postgres', 'uswarm-valkey'];

export const EXCEPTIONS: readonly Exception[] = [
  {
    check: 'container-resources',
    says: 'CPU limit',
    reason:
      'A CPU limit throttles a pod even if the node has spare CPU, which delays probes and leases. Requests share the CPU fairly.',
  },
  {
    check: 'container-ephemeral-storage-request-and-limit',
    reason:
      'Root file systems are read-only and each emptyDir has a size limit. Only the log remains, which the kubelet rotates.',
  },
  {
    check: 'container-image-pull-policy',
    reason:
      'Tags are fixed (`latest` is rejected), and digests are supported. Pods must be able to restart while the registry is unavailable.',
  },
  {
    check: 'container-security-context-user-group-id',
    objects: THIRD_PARTY,
    reason: 'These third-party images require fixed ids, which are not root. Values can change them.',
  },
  {
    check: 'deployment-replicas',
    objects: ['uswarm-orchestrator'],
    scenarios: /keda/,
    reason: 'KEDA sets the number of replicas, of which the ScaledObject has a minimum.',
  },
  {
    check: 'pod-probes-identical',
    objects: THIRD_PARTY,
    reason: 'They have a single endpoint for probes; the liveness probe waits much longer.',
  },
  {
    check: 'deployment-replicas',
    objects: THIRD_PARTY,
    reason:
      'SearXNG runs one replica, because each would learn separately which engines block it. The others are evaluation stores.',
  },
  {
    check: 'deployment-replicas',
    scenarios: /evaluation|minimal|kind/,
    reason: 'One replica is enough for an evaluation, or if an outage during node drains is acceptable.',
  },
  {
    check: 'deployment-strategy',
    objects: ['uswarm-webhook', 'uswarm-postgres', 'uswarm-valkey'],
    reason:
      'Webhooks with different configurations would alternate and rewrite every runtime. Two Postgres servers must never use the same data.',
  },
  {
    check: 'networkpolicy-targets-pod',
    objects: ['uswarm-default-deny', 'uswarm-agent-runtime', 'uswarm-agent-runtime-direct'],
    reason: 'Their pods are runtimes, which the controller creates.',
  },
];
