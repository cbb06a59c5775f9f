/** The paths of audit policy and audit log in the node. */
const AUDIT_POLICY = '/etc/uswarm';
const AUDIT_LOG = '/var/log/uswarm-audit';

/** The edge's node port, mapped to a loopback port on this machine. */
export const EDGE_NODE_PORT = 30_080;

/**
 * With cgroup v1 and the driver `systemd`, runc freezes each container that it creates, which fails on a busy node
 * ("unable to freeze"); the kubelet repeats the start ten to fifteen seconds later.
 */
const RUNC_WITHOUT_SYSTEMD = `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.test-handler.options]
  SystemdCgroup = false`;

/** The defaults are 20 and 30 per controller, 50 and 100 for the scheduler. */
const NO_LIMITS = { 'kube-api-qps': '5000', 'kube-api-burst': '10000' };

/** The zone label's values. */
const ZONES = ['a', 'b', 'c'];

/**
 * The test cluster: one node, or three in different zones; the admission plugin OwnerReferencesPermissionEnforcement, because
 * the controller's RBAC rules must satisfy it; and an audit log.
 *
 * @param {{ policyFolder: string, logFolder: string, nodes?: number, limitsLifted?: boolean }} options folders on this machine;
 * `limitsLifted`: removes the request limits for the cluster's controllers and scheduler
 * @returns {string} kind's configuration; JSON is YAML
 */
export function kindConfig({ policyFolder, logFolder, nodes = 1, limitsLifted = false }) {
  const apiServer = {
    extraArgs: {
      'enable-admission-plugins': 'NodeRestriction,OwnerReferencesPermissionEnforcement',
      'audit-policy-file': `${AUDIT_POLICY}/policy.json`,
      'audit-log-path': `${AUDIT_LOG}/audit.log`,
      // In megabytes. A test could not read a rotated log from its start.
      'audit-log-maxsize': '2000',
      'audit-log-maxbackup': '1',
    },
    extraVolumes: [
      { name: 'audit-policy', hostPath: AUDIT_POLICY, mountPath: AUDIT_POLICY, readOnly: true, pathType: 'Directory' },
      { name: 'audit-log', hostPath: AUDIT_LOG, mountPath: AUDIT_LOG, pathType: 'DirectoryOrCreate' },
    ],
  };
  const lifted = { controllerManager: { extraArgs: NO_LIMITS }, scheduler: { extraArgs: NO_LIMITS } };
  const components = { apiServer, ...(limitsLifted && lifted) };
  const zone = (index) => (nodes === 1 ? {} : { labels: { 'topology.kubernetes.io/zone': ZONES[index] } });
  // kind permits pods on the control plane only in a cluster with one node.
  const untainted = JSON.stringify({ kind: 'InitConfiguration', nodeRegistration: { taints: [] } });
  return JSON.stringify({
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    networking: { apiServerAddress: '127.0.0.1' },
    kubeadmConfigPatches: [
      JSON.stringify({ kind: 'ClusterConfiguration', ...components }),
      JSON.stringify({ kind: 'KubeletConfiguration', cgroupDriver: 'cgroupfs' }),
    ],
    containerdConfigPatches: [RUNC_WITHOUT_SYSTEMD],
    nodes: [
      {
        role: 'control-plane',
        ...zone(0),
        ...(nodes === 1 ? {} : { kubeadmConfigPatches: [untainted] }),
        extraMounts: [
          { hostPath: policyFolder, containerPath: AUDIT_POLICY, readOnly: true },
          { hostPath: logFolder, containerPath: AUDIT_LOG },
        ],
        // 0: any free port of this machine.
        extraPortMappings: [{ containerPort: EDGE_NODE_PORT, hostPort: 0, listenAddress: '127.0.0.1' }],
      },
      ...Array.from({ length: nodes - 1 }, (_, index) => ({ role: 'worker', ...zone(index + 1) })),
    ],
  });
}

/** Logs metadata only, so that the log contains no content of Secrets. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [
    { level: 'None', nonResourceURLs: ['/healthz*', '/livez*', '/readyz*', '/version', '/openapi/*'] },
    // Leases and health checks, which are most of the idle traffic.
    {
      level: 'None',
      userGroups: ['system:nodes', 'system:serviceaccounts:kube-system'],
      verbs: ['get', 'list', 'watch'],
    },
    {
      level: 'None',
      users: ['system:apiserver', 'system:kube-controller-manager', 'system:kube-scheduler'],
      verbs: ['get', 'list', 'watch'],
    },
    { level: 'None', namespaces: ['kube-system', 'kube-node-lease'], resources: [{ group: 'coordination.k8s.io' }] },
    { level: 'Metadata' },
  ],
};
