import { LABEL_PATTERN } from './dns-names.js';

/** Names shared by orchestrator, controller and sync hook. */

export const API_GROUP = 'uswarm.dev';
export const API_VERSION = 'v1alpha1';
export const USERSWARM_API_VERSION = `${API_GROUP}/${API_VERSION}`;
export const USERSWARM_KIND = 'UserSwarm';
export const USERSWARM_PLURAL = 'userswarms';

/** The API path of UserSwarms. */
export const USERSWARMS = { group: API_GROUP, version: API_VERSION, plural: USERSWARM_PLURAL, kind: USERSWARM_KIND };

export const DEFAULT_RUNTIME_NAMESPACE = 'userswarms';
export const DEFAULT_RUNTIME_PORT = 42_618;

const WORKSPACE_PREFIX = 'workspace-';
const RUNTIME_PREFIX = 'agent-runtime-';

/** Names of children are Service names of at most 63 characters, including a prefix. */
export const USERSWARM_NAME_LENGTH = 63 - RUNTIME_PREFIX.length;
export const USERSWARM_NAME = new RegExp(`^${WORKSPACE_PREFIX}${LABEL_PATTERN}$`);

/** UserSwarm name by workspace id. */
export const userSwarmName = (workspaceId: string): string => `${WORKSPACE_PREFIX}${workspaceId}`;

/** Workspace id by UserSwarm name. */
export const workspaceIdOf = (name: string): string => name.slice(WORKSPACE_PREFIX.length);

/** Name for the ServiceAccount, Service and Deployment of a UserSwarm. */
export const childName = (userSwarm: string): string => `${RUNTIME_PREFIX}${userSwarm}`;

/** The gRPC URL of a runtime inside the cluster. */
export const runtimeAddress = (userSwarm: string, namespace: string, port: number): string =>
  `http://${childName(userSwarm)}.${namespace}.svc:${port}`;

export const RUNTIME_COMPONENT = 'agent-runtime';
export const LABEL = {
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  partOf: 'app.kubernetes.io/part-of',
  managedBy: 'app.kubernetes.io/managed-by',
  /** On each child, set by the controller: the UserSwarm's uid. */
  controllerUid: 'controller-uid',
} as const;

/** `app.kubernetes.io/managed-by` on UserSwarms from the orchestrator. */
export const ORCHESTRATOR_MANAGER = 'uswarm-orchestrator';
/** `app.kubernetes.io/managed-by` on the children. */
export const CONTROLLER_MANAGER = 'uswarm-controller';

/**
 * On runtime pods that call models through the gateway. NetworkPolicies allow other runtimes, such as from earlier
 * releases, to reach a provider on the internet.
 */
export const MODEL_ACCESS = { label: `${API_GROUP}/model-access`, gateway: 'gateway' } as const;

/** On runtime pods that resolve no names. NetworkPolicies allow DNS to the others. */
export const DNS_ACCESS = { label: `${API_GROUP}/dns`, none: 'none' } as const;

/** On a UserSwarm, with the value `true`: an uninstall does not delete it. */
export const KEEP_LABEL = 'uswarm.dev/keep-on-uninstall';

/** Selects the pods of one runtime; also the immutable selector of its Deployment. */
export const runtimeSelector = (userSwarm: string): Record<string, string> => ({
  [LABEL.name]: RUNTIME_COMPONENT,
  [LABEL.instance]: userSwarm,
});

/** Model keys that all workspaces share by default; in the runtime namespace. */
export const SHARED_MODEL_SECRET = 'uswarm-model-env';
/** Store credentials for runtime pods; in the runtime namespace. */
export const RUNTIME_STORES_SECRET = 'uswarm-runtime-stores';
/** The separate Secret that a workspace may set in `config.envSecretRef`. */
export const ownEnvSecret = (userSwarm: string): string => `${userSwarm}-env`;
