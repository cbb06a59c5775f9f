/** Accepted findings of kube-score. An unused exception fails the tests. */
interface Exception {
  /** Id of the check: `kube-score list`. */
  check: string;
  /** Names of the objects. Default: all. */
  objects?: readonly string[];
  /** Part of the finding. Default: all findings of the check. */
  says?: string;
  /** Value files. Default: all. */
  scenarios?: RegExp;
  reason: string;
}

const NOT_OURS = ['searxng', 'uswarm-postgres', 'uswarm-valkey'];

export const EXCEPTIONS: readonly Exception[] = [
  {
    check: 'container-resources',
    says: 'CPU limit',
    reason:
      'A limit throttles a pod while the node has CPU to spare, which makes probes and leases late; requests share the CPU fairly.',
  },
  {
    check: 'container-ephemeral-storage-request-and-limit',
    reason:
      'Root file systems are read-only and each emptyDir has a limit of its own, so that only the log is left, which the kubelet rotates.',
  },
  {
    check: 'container-image-pull-policy',
    reason:
      'Tags are fixed (`latest` is refused) and digests can be given; a registry that is away must not keep a pod from starting again.',
  },
  {
    check: 'container-security-context-user-group-id',
    objects: NOT_OURS,
    reason: 'These third-party images require fixed ids, which are not root. Values can change them.',
  },
  {
    check: 'pod-probes-identical',
    objects: NOT_OURS,
    reason: 'They have a single endpoint for probes; the liveness probe waits much longer.',
  },
  {
    check: 'deployment-replicas',
    objects: NOT_OURS,
    reason:
      'One on purpose: each SearXNG would learn by itself which engines refuse it, and the others are only to try things out.',
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
    objects: ['uswarm-default-deny', 'uswarm-agent-runtime'],
    reason: 'Their pods are runtimes, which the controller creates.',
  },
];
