/** What kube-score says of the chart and is not followed. An exception that nothing needs fails the tests. */
interface Exception {
  /** Id of the check: `kube-score list`. */
  check: string;
  /** Names of the objects; all without it. */
  objects?: readonly string[];
  /** Part of what it says there, where it says several things; all without it. */
  says?: string;
  /** Which value files; all without it. */
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
    reason: 'The ids that these images of others were made for; never root. Values can change them.',
  },
  {
    check: 'pod-probes-identical',
    objects: NOT_OURS,
    reason: 'They have one way to be asked; their liveness probes wait much longer.',
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
    reason: 'One replica of each is what somebody needs who tries it out, or whose users can wait while a node goes.',
  },
  {
    check: 'deployment-strategy',
    objects: ['uswarm-webhook', 'uswarm-postgres', 'uswarm-valkey'],
    reason:
      'Two webhooks of different configuration would rewrite every runtime by turns; two Postgres must never have the same files.',
  },
  {
    check: 'networkpolicy-targets-pod',
    objects: ['uswarm-default-deny', 'uswarm-agent-runtime'],
    reason: 'Their pods are those of workspaces, which the controller makes.',
  },
];
