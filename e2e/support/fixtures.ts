/** Shared fixtures: an OIDC issuer, a search engine, a model server and the edge. */
export const NAMESPACE = {
  release: 'backend',
  runtime: 'userswarms',
  oidc: 'e2e-oidc',
  search: 'e2e-search',
  models: 'e2e-models',
  edge: 'e2e-edge',
} as const;

/** Runtime namespaces that tests delete. */
export const DELETED_NAMESPACES = ['e2e-vanishing', 'e2e-doomed'] as const;

/** Additional runtime namespaces; each belongs to one test file. */
export const EXTRA_RUNTIME_NAMESPACES = ['e2e-other', 'e2e-quota', ...DELETED_NAMESPACES, 'e2e-deadline'] as const;

export const RELEASE = 'uswarm';
/** The Secret that the release generates in evaluation mode. */
export const GENERATED_SECRET = { name: 'uswarm-evaluation', namespace: NAMESPACE.release };
export const HOST = 'uswarm.e2e.test';
export const OIDC_ISSUER = `http://oidc.${NAMESPACE.oidc}.svc.cluster.local:8080`;
export const SEARCH_UPSTREAM = `http://upstream.${NAMESPACE.search}.svc.cluster.local:8080`;
export const MODEL_SERVER = `http://models.${NAMESPACE.models}.svc.cluster.local:8080/v1`;
/** Secret with the model provider's key. */
export const PROVIDER_SECRET = { name: 'e2e-model-providers', namespace: NAMESPACE.release };
/** Secret with credentials of a bucket that does not exist. */
export const STORAGE_SECRET = { name: 'e2e-object-storage', namespace: NAMESPACE.release };
export const PROVIDER_KEY = 'e2e-provider-key';
export const EDGE_PORT = 8443;
const EDGE_NODE_PORT = 30_080;

export interface FixtureOptions {
  name: string;
  namespace: string;
  image: string;
  port: number;
  env?: Record<string, string>;
  command?: string[];
  /** Folders that mount a ConfigMap or a Secret. */
  mounts?: { path: string; configMap?: string; secret?: string }[];
  /** A change replaces the pod. */
  revision?: string;
  nodePort?: boolean;
  nodeSelector?: Record<string, string>;
}

/** The node that tests never stop: it has the API server, and in a cluster with several nodes all fixtures. */
export const KEPT_NODE = { 'node-role.kubernetes.io/control-plane': '' };

/** Where fixtures run in a cluster with this many nodes. */
export const fixtureNode = (nodes: number): Pick<FixtureOptions, 'nodeSelector'> =>
  nodes === 1 ? {} : { nodeSelector: KEPT_NODE };

/** A Deployment with one container, and its Service. */
export function fixtureObjects(options: FixtureOptions): object[] {
  const {
    command,
    env = {},
    image,
    mounts = [],
    name,
    namespace,
    nodePort = false,
    nodeSelector,
    port,
    revision = '1',
  } = options;
  const labels = { app: name };
  const container = {
    name,
    image,
    imagePullPolicy: 'IfNotPresent',
    ...(command === undefined ? {} : { command }),
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    ports: [{ containerPort: port }],
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    resources: { requests: { cpu: '10m', memory: '32Mi' } },
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      ...mounts.map(({ path }, index) => ({ name: `mount-${index}`, mountPath: path, readOnly: true })),
    ],
    securityContext: {
      runAsUser: 65_532,
      runAsGroup: 65_532,
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
  const volumes = [
    { name: 'tmp', emptyDir: {} },
    ...mounts.map(({ configMap, secret }, index) => ({
      name: `mount-${index}`,
      ...(configMap === undefined ? { secret: { secretName: secret } } : { configMap: { name: configMap } }),
    })),
  ];
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        strategy: { type: 'Recreate' },
        template: {
          metadata: { labels, annotations: { 'e2e.uswarm.dev/revision': revision } },
          spec: {
            enableServiceLinks: false,
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 1,
            ...(nodeSelector === undefined ? {} : { nodeSelector }),
            containers: [container],
            volumes,
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: {
        selector: labels,
        ...(nodePort ? { type: 'NodePort' } : {}),
        ports: [{ port, targetPort: port, ...(nodePort ? { nodePort: EDGE_NODE_PORT } : {}) }],
      },
    },
  ];
}

/** Label of namespaces that tests create and may delete. */
export const FIXTURE_LABEL = 'e2e.uswarm.dev/fixture';

export const namespaceObject = (name: string, restricted = false): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { [FIXTURE_LABEL]: 'true', ...(restricted ? { 'pod-security.kubernetes.io/enforce': 'restricted' } : {}) },
  },
});
