import { type Child, containerOf, podOf, type RenderedChildren, specOf } from '../admission-children.js';
import type { Attack } from '../attack.js';

// Writes by a compromised controller. It has the permission to write these kinds.

type Kind = keyof RenderedChildren;
type Change = (child: Child) => void;
export type EvilChild = (children: RenderedChildren) => Child;

/** A child that the webhook renders, with a change. */
const changed = (children: RenderedChildren, kind: Kind, change: Change): Child => {
  const child = structuredClone(children[kind]);
  change(child);
  return child;
};
const attacks = (
  kind: Kind,
  refusedBy: string,
  rows: readonly (readonly [tries: string, change: Change, error: RegExp])[],
): Attack<EvilChild>[] =>
  rows.map(([tries, change, error]) => ({
    by: 'controller',
    tries,
    refusedBy,
    attempt: (children) => changed(children, kind, change),
    error,
  }));

/** @throws Error if there is none */
function first<T>(list: readonly T[]): T {
  const [item] = list;
  if (item === undefined) throw new Error('the list is empty');
  return item;
}
const ownerOf = (child: Child): Record<string, unknown> =>
  first(child.metadata['ownerReferences'] as Record<string, unknown>[]);
const addOwner: Change = (child) =>
  (child.metadata['ownerReferences'] as object[]).push({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    name: 'default',
    uid: 'x',
  });
const setVariable =
  (name: string, value: string): Change =>
  (child) => {
    const { env } = containerOf(child);
    const known = env.find((variable) => variable.name === name);
    if (known === undefined) env.push({ name, value });
    else known.value = value;
  };
const addVariableFrom =
  (valueFrom: object): Change =>
  (child) =>
    containerOf(child).env.push({ name: 'X', valueFrom });
const setPod =
  (fields: object): Change =>
  (child) =>
    Object.assign(podOf(child), fields);
const setContainer =
  (fields: object): Change =>
  (child) =>
    Object.assign(containerOf(child), fields);
const setSecurity =
  (fields: object): Change =>
  (child) =>
    Object.assign(containerOf(child).securityContext, fields);
const addVolume =
  (volume: object): Change =>
  (child) =>
    podOf(child).volumes.push({ name: 'added', ...volume });

const ENVIRONMENT = /^PolicyDenied: The environment has variables that uswarm does not set/;
const SECRET = /^PolicyDenied: The environment refers to a Secret/;
const FIELDS = /^PolicyDenied: uswarm does not set these fields/;
const CONTAINER = /^PolicyDenied: A runtime must be a single container/;
const SECURITY = /^PolicyDenied: The security context/;
const VOLUMES = /^PolicyDenied: Volumes of a runtime/;
const LABELS = /^PolicyDenied: The labels and annotations/;
const OWNER = /^PolicyDenied: A child must/;
const METADATA = /^PolicyDenied: uswarm does not set these labels, annotations and finalizers/;

const ON_DEPLOYMENTS = attacks('Deployment', 'uswarm-runtime-pods', [
  ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_TLS_REJECT_UNAUTHORIZED', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'PATH'].map(
    (name): [string, Change, RegExp] => [`sets ${name}`, setVariable(name, 'x'), ENVIRONMENT],
  ),
  ['sets the base URL of a model', setVariable('OPENAI_BASE_URL', 'http://evil.test'), ENVIRONMENT],
  ['sets a proxy', setVariable('HTTPS_PROXY', 'http://evil.test'), ENVIRONMENT],
  ['changes trusted certificates', setVariable('NODE_EXTRA_CA_CERTS', '/tmp/ca.crt'), ENVIRONMENT],
  ['changes the tool server', setVariable('SVC_MCP_ENDPOINT', 'http://evil.test'), ENVIRONMENT],
  ['changes the orchestrator', setVariable('SVC_ORCHESTRATOR_ENDPOINT', 'http://evil.test'), ENVIRONMENT],
  ['adds a model gateway', setVariable('MODEL_GATEWAY_URL', 'http://evil.test'), ENVIRONMENT],
  ['runs as another workspace', setVariable('USWARM_WORKSPACE_ID', 'other'), ENVIRONMENT],
  [
    'reads a key of another Secret',
    addVariableFrom({ secretKeyRef: { name: 'workspace-b-env', key: 'x' } }),
    ENVIRONMENT,
  ],
  [
    'reads the Secret of the stores',
    addVariableFrom({ secretKeyRef: { name: 'uswarm-runtime-stores', key: 'X' } }),
    ENVIRONMENT,
  ],
  ['reads a ConfigMap', addVariableFrom({ configMapKeyRef: { name: 'x', key: 'x' } }), ENVIRONMENT],
  ['reads the address of its node', addVariableFrom({ fieldRef: { fieldPath: 'status.hostIP' } }), ENVIRONMENT],
  [
    'takes the Secret of another workspace',
    setContainer({ envFrom: [{ secretRef: { name: 'workspace-b-env' } }] }),
    SECRET,
  ],
  ['takes a whole ConfigMap', setContainer({ envFrom: [{ configMapRef: { name: 'x' } }] }), SECRET],
  [
    'makes NODE_OPTIONS of a key with a prefix',
    setContainer({ envFrom: [{ prefix: 'NODE_', secretRef: { name: 'uswarm-model-env' } }] }),
    SECRET,
  ],
  ['runs a foreign image', setContainer({ image: 'elsewhere.test/x:1' }), /^PolicyDenied: The image/],
  [
    'runs an image with a similar name',
    setContainer({ image: 'registry.test/runtime-evil:1' }),
    /^PolicyDenied: The image/,
  ],
  ['runs another command', setContainer({ command: ['sh'] }), CONTAINER],
  ['runs other arguments', setContainer({ args: ['-e', 'evil()'] }), CONTAINER],
  [
    'adds a container',
    (child) => podOf(child).containers.push({ ...containerOf(child), name: 'other', ports: [] }),
    CONTAINER,
  ],
  [
    'adds an init container',
    setPod({ initContainers: [{ name: 'init', image: 'registry.test/runtime:1' }] }),
    CONTAINER,
  ],
  ['adds a lifecycle hook', setContainer({ lifecycle: { postStart: { exec: { command: ['x'] } } } }), CONTAINER],
  ['probes with a command', setContainer({ livenessProbe: { exec: { command: ['x'] } } }), CONTAINER],
  [
    'probes another host',
    setContainer({ readinessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }),
    CONTAINER,
  ],
  ['sets a working directory', setContainer({ workingDir: '/tmp' }), FIELDS],
  ['keeps its standard input open', setContainer({ stdin: true }), FIELDS],
  ['changes the termination log', setContainer({ terminationMessagePath: '/etc/passwd' }), FIELDS],
  ['changes the pull policy', setContainer({ imagePullPolicy: 'Never' }), FIELDS],
  [
    'mounts a volume over the program',
    (child) => containerOf(child).volumeMounts.push({ name: 'tmp', mountPath: '/app' }),
    FIELDS,
  ],
  ['adds a port', (child) => containerOf(child).ports.push({ containerPort: 8080 }), /one port/],
  ['opens a port of the node', (child) => void (first(containerOf(child).ports)['hostPort'] = 42_618), SECURITY],
  [
    'asks for more memory than allowed',
    (child) => void (containerOf(child).resources.limits['memory'] = '64Gi'),
    /maximum/,
  ],
  ['removes the memory limit', (child) => void delete containerOf(child).resources.limits['memory'], /resources/],
  ['asks for a GPU', (child) => void (containerOf(child).resources.limits['nvidia.com/gpu'] = '1'), /resources/],
  ['sets a priority class', setPod({ priorityClassName: 'system-node-critical' }), FIELDS],
  ['chooses a node', setPod({ nodeName: 'control-plane' }), FIELDS],
  ['selects nodes', setPod({ nodeSelector: { 'node-role.kubernetes.io/control-plane': '' } }), FIELDS],
  ['tolerates taints', setPod({ tolerations: [{ operator: 'Exists' }] }), FIELDS],
  [
    'sets an affinity to the victim',
    setPod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'x' }] } } }),
    FIELDS,
  ],
  ['pulls with a foreign Secret', setPod({ imagePullSecrets: [{ name: 'workspace-b-env' }] }), FIELDS],
  ['maps host names', setPod({ hostAliases: [{ ip: '198.51.100.7', hostnames: ['api.openai.com'] }] }), FIELDS],
  ['changes DNS', setPod({ dnsPolicy: 'None', dnsConfig: { nameservers: ['198.51.100.7'] } }), FIELDS],
  ['uses another runtime class', setPod({ runtimeClassName: 'unsafe' }), FIELDS],
  ['uses another scheduler', setPod({ schedulerName: 'evil' }), FIELDS],
  ['shares the processes of its containers', setPod({ shareProcessNamespace: true }), FIELDS],
  ['sets a host name', setPod({ hostname: 'x', subdomain: 'y' }), FIELDS],
  ['claims a device', setPod({ resourceClaims: [{ name: 'x', resourceClaimName: 'x' }] }), FIELDS],
  ['gets the addresses of all Services', setPod({ enableServiceLinks: true }), FIELDS],
  ['stays for an hour', setPod({ terminationGracePeriodSeconds: 3_600 }), FIELDS],
  ['takes a token', setPod({ automountServiceAccountToken: true }), /ServiceAccount/],
  ['uses the account of another runtime', setPod({ serviceAccountName: 'agent-runtime-b' }), /ServiceAccount/],
  ['mounts a Secret', addVolume({ secret: { secretName: 'x' } }), VOLUMES],
  ['mounts a projected Secret', addVolume({ projected: { sources: [{ secret: { name: 'x' } }] } }), VOLUMES],
  [
    'mounts a projected token',
    addVolume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
    VOLUMES,
  ],
  ['mounts another ConfigMap', addVolume({ configMap: { name: 'x' } }), VOLUMES],
  ['mounts a folder of the node', addVolume({ hostPath: { path: '/' } }), VOLUMES],
  ['mounts a claim', addVolume({ persistentVolumeClaim: { claimName: 'x' } }), VOLUMES],
  ['mounts an inline driver', addVolume({ csi: { driver: 'secrets-store.csi.k8s.io' } }), VOLUMES],
  ['mounts a remote folder', addVolume({ nfs: { server: '198.51.100.7', path: '/' } }), VOLUMES],
  ['adds an unlimited volume', addVolume({ emptyDir: {} }), VOLUMES],
  ['runs as root', setSecurity({ runAsUser: 0 }), SECURITY],
  ['runs as another user', setSecurity({ runAsUser: 1_000 }), SECURITY],
  ['is privileged', setSecurity({ privileged: true, allowPrivilegeEscalation: true }), SECURITY],
  ['adds a capability', setSecurity({ capabilities: { drop: ['ALL'], add: ['NET_RAW'] } }), SECURITY],
  ['filters no system calls', setSecurity({ seccompProfile: { type: 'Unconfined' } }), SECURITY],
  ['has no security context', setContainer({ securityContext: {} }), SECURITY],
  ['has no security context of the pod', setPod({ securityContext: {} }), SECURITY],
  ['joins a group of the node', (child) => void (podOf(child).securityContext['supplementalGroups'] = [0]), SECURITY],
  [
    'sets a kernel parameter',
    (child) => void (podOf(child).securityContext['sysctls'] = [{ name: 'a', value: 'b' }]),
    SECURITY,
  ],
  ['uses the network of the node', setPod({ hostNetwork: true }), SECURITY],
  ['sees the processes of the node', setPod({ hostPID: true }), SECURITY],
  [
    'takes the labels of the orchestrator',
    (child) => Object.assign(specOf(child).template.metadata.labels, { 'app.kubernetes.io/component': 'orchestrator' }),
    LABELS,
  ],
  [
    'adds a label that a policy selects',
    (child) => void (specOf(child).template.metadata.labels['team'] = 'a'),
    LABELS,
  ],
  [
    'claims to use the model gateway',
    (child) => void (specOf(child).template.metadata.labels['uswarm.dev/model-access'] = 'gateway'),
    LABELS,
  ],
  [
    'joins another network',
    (child) =>
      void (specOf(child).template.metadata.annotations = { 'k8s.v1.cni.cncf.io/networks': 'kube-system/node' }),
    LABELS,
  ],
  ['runs two pods', (child) => void (specOf(child)['replicas'] = 2), /at most one pod/],
  ['replaces its pods gradually', (child) => void (specOf(child)['strategy'] = { type: 'RollingUpdate' }), FIELDS],
  ['pauses the Deployment', (child) => void (specOf(child)['paused'] = true), FIELDS],
  ['has no owner', (child) => void (child.metadata['ownerReferences'] = []), OWNER],
  ['has the owner of another name', (child) => void (ownerOf(child)['name'] = 'workspace-b'), OWNER],
  ['has an owner of another kind', (child) => void (ownerOf(child)['kind'] = 'ConfigMap'), OWNER],
  ['has the name of a victim', (child) => void (child.metadata.name = 'agent-runtime-workspace-victim'), OWNER],
  ['has a name that is not a runtime name', (child) => void (child.metadata.name = 'other'), OWNER],
  [
    'has an owner of a version that does not exist',
    (child) => void (ownerOf(child)['apiVersion'] = 'uswarm.dev/v9'),
    OWNER,
  ],
  ['has a second owner, which outlives the first', addOwner, /^PolicyDenied: A child must have no other owner/],
  ['adds a finalizer', (child) => void (child.metadata['finalizers'] = ['evil.test/hold']), METADATA],
]);

const SERVICE_FIELDS = /^PolicyDenied: uswarm does not set these fields of a Service/;
const setSpec =
  (fields: object): Change =>
  (child) =>
    Object.assign(specOf(child), fields);

const ON_SERVICES = attacks('Service', 'uswarm-runtime-services', [
  ['opens a load balancer', setSpec({ type: 'LoadBalancer' }), /type ClusterIP/],
  ['opens a node port', setSpec({ type: 'NodePort' }), /type ClusterIP/],
  ['gives a Service an external name', setSpec({ type: 'ExternalName', externalName: 'evil.test' }), /type ClusterIP/],
  ['takes over an address', setSpec({ externalIPs: ['198.51.100.7'] }), SERVICE_FIELDS],
  ['makes a Service headless', setSpec({ clusterIP: 'None' }), SERVICE_FIELDS],
  ['publishes pods that are not ready', setSpec({ publishNotReadyAddresses: true }), SERVICE_FIELDS],
  ['pins clients', setSpec({ sessionAffinity: 'ClientIP' }), SERVICE_FIELDS],
  ['selects the orchestrator', setSpec({ selector: { 'app.kubernetes.io/component': 'orchestrator' } }), /its own pod/],
  ['selects every runtime', setSpec({ selector: { 'app.kubernetes.io/name': 'agent-runtime' } }), /its own pod/],
  ['selects nothing', (child) => void delete specOf(child)['selector'], /its own pod/],
  ['leads to another port', (child) => void (first(specOf(child).ports)['targetPort'] = 9_229), /one port/],
  ['opens a second port', (child) => specOf(child).ports.push({ name: 'x', port: 22 }), /one port/],
  [
    'joins a mesh of clusters',
    (child) => void (child.metadata['annotations'] = { 'service.cilium.io/global': 'true' }),
    METADATA,
  ],
  [
    'takes a label of the platform',
    (child) => void (child.metadata.labels['kubernetes.io/cluster-service'] = 'true'),
    METADATA,
  ],
  ['has the name of the victim', (child) => void (child.metadata.name = 'agent-runtime-workspace-victim'), OWNER],
  ['stays in the name of a second owner', addOwner, /^PolicyDenied: A child must have no other owner/],
]);

const ON_ACCOUNTS = attacks('ServiceAccount', 'uswarm-runtime-accounts', [
  ['mounts tokens', (child) => void (child['automountServiceAccountToken'] = true), /no token/],
  ['leaves tokens to the default', (child) => void delete child['automountServiceAccountToken'], /no token/],
  ['adds a pull Secret', (child) => void (child['imagePullSecrets'] = [{ name: 'workspace-b-env' }]), /no token/],
  ['adds a Secret', (child) => void (child['secrets'] = [{ name: 'workspace-b-env' }]), /no token/],
  [
    'takes a role of the cloud account',
    (child) => void (child.metadata['annotations'] = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/admin' }),
    METADATA,
  ],
  ['changes the default account', (child) => void (child.metadata.name = 'default'), OWNER],
]);

const ON_OWNERS = attacks('Deployment', 'uswarm-runtime-owners', [
  [
    'claims a Deployment for another object with the name of its UserSwarm',
    (child) => void (ownerOf(child)['uid'] = 'made-up'),
    /^PolicyDenied: The uid of the owner/,
  ],
]);

/** With `runtime.dns.enabled=false`. */
export const DNS_ATTACKS = attacks('Deployment', 'uswarm-runtime-pods', [
  [
    'gives a runtime without DNS that of the cluster',
    (child) => {
      for (const field of ['dnsPolicy', 'dnsConfig', 'hostAliases']) delete podOf(child)[field];
    },
    FIELDS,
  ],
  ['removes only the policy', setPod({ dnsPolicy: 'ClusterFirst' }), FIELDS],
  ['asks another DNS server', setPod({ dnsConfig: { nameservers: ['198.51.100.7'] } }), FIELDS],
  ['adds an address', setPod({ hostAliases: [{ ip: '198.51.100.7', hostnames: ['evil.test'] }] }), FIELDS],
  [
    'lets a network policy take it for one with DNS',
    (child) => void delete specOf(child).template.metadata.labels['uswarm.dev/dns'],
    LABELS,
  ],
]);

export const CONTROLLER_ATTACKS = [...ON_DEPLOYMENTS, ...ON_SERVICES, ...ON_ACCOUNTS, ...ON_OWNERS];
