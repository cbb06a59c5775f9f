/** Where the API server finds its audit policy and leaves its log, in the node. */
const AUDIT_POLICY = '/etc/uswarm';
const AUDIT_LOG = '/var/log/uswarm-audit';

/** The node port that leads from this machine's loopback to the edge. */
export const EDGE_NODE_PORT = 30_080;

/** By default 20 and 30 for each of the controllers, 50 and 100 for the scheduler. */
const NO_LIMITS = { 'kube-api-qps': '5000', 'kube-api-burst': '10000' };

/**
 * The cluster for tests: one node; the admission plugin that guards owner references, since RBAC of
 * the controller must stand up to it; an audit log.
 *
 * @param {{ policyFolder: string, logFolder: string, limitsLifted?: boolean }} options folders on this machine;
 *   `limitsLifted`: the cluster's own controllers and its scheduler may ask the API server as often as they like
 * @returns {string} kind's configuration; JSON is YAML
 */
export function kindConfig({ policyFolder, logFolder, limitsLifted = false }) {
  const apiServer = {
    extraArgs: {
      'enable-admission-plugins': 'NodeRestriction,OwnerReferencesPermissionEnforcement',
      'audit-policy-file': `${AUDIT_POLICY}/policy.json`,
      'audit-log-path': `${AUDIT_LOG}/audit.log`,
      // In megabytes: rotated, a test could not read it from its start.
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
  return JSON.stringify({
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    networking: { apiServerAddress: '127.0.0.1' },
    kubeadmConfigPatches: [JSON.stringify({ kind: 'ClusterConfiguration', ...components })],
    nodes: [
      {
        role: 'control-plane',
        extraMounts: [
          { hostPath: policyFolder, containerPath: AUDIT_POLICY, readOnly: true },
          { hostPath: logFolder, containerPath: AUDIT_LOG },
        ],
        // 0: any free port of this machine.
        extraPortMappings: [{ containerPort: EDGE_NODE_PORT, hostPort: 0, listenAddress: '127.0.0.1' }],
      },
    ],
  });
}

/** Who did what, never with what: the log holds no content of Secrets. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [
    { level: 'None', nonResourceURLs: ['/healthz*', '/livez*', '/readyz*', '/version', '/openapi/*'] },
    // The cluster's own housekeeping, which is most of the traffic at rest.
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
