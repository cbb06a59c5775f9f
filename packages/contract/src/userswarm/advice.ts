import type { FailureReason, SyncFailure } from './conditions.js';

/** Every reason that a condition `Ready` or `Synced` can have. */
export type Reason =
  | 'Available'
  | 'Suspended'
  | 'Deleting'
  | 'Starting'
  | 'Queued'
  | 'NotYetSynced'
  | FailureReason
  | SyncFailure;

export interface Advice {
  cause: string;
  /** What whoever runs the platform is to do. */
  advice: string;
}

/** As docs/userswarm.md has it, word for word, and `uswarmctl explain` says it. */
export const REASON_ADVICE: Readonly<Record<Reason, Advice>> = {
  Available: {
    cause: 'The runtime answers.',
    advice: 'Nothing.',
  },
  Suspended: {
    cause: 'It is idle, or someone holds it.',
    advice: 'Nothing: a message wakes one that is idle. How a hold ends: "Holding a runtime" in docs/userswarm.md.',
  },
  Deleting: {
    cause: 'Pods or children are being deleted; the message lists them.',
    advice: 'Stuck for minutes: look at the finalizers of these objects and at their node.',
  },
  Starting: {
    cause: 'The pod is being created or starts.',
    advice: 'Nothing; after 300 s it becomes `StartDeadlineExceeded`.',
  },
  Queued: {
    cause: 'As many runtimes start as may start at once (`start.maxConcurrent`).',
    advice: 'Nothing: first come, first served.',
  },
  InvalidSpec: {
    cause: 'The spec got past the API server and is wrong nevertheless.',
    advice: 'Correct the field that the message names. Is the CRD as new as the webhook?',
  },
  PolicyDenied: {
    cause: 'Namespace, image, Secret or resources are not allowed ones.',
    advice:
      'Correct the spec or allow it: `extraNamespaces`, `imagePrefixes`, `sharedEnvSecrets`, `maxResources` in `runtime` (values).',
  },
  RenderingFailed: {
    cause: 'A fault in the webhook.',
    advice: 'Read the log of `uswarm-webhook`; report it.',
  },
  NamespaceMissing: {
    cause: 'The runtime namespace is not there, or is being deleted.',
    advice: "`helm upgrade`: it brings back the namespace, and the controller's rights in it.",
  },
  NameConflict: {
    cause: "A child's name is taken by an object of someone else.",
    advice: 'Remove or rename the object that the message names.',
  },
  QuotaExceeded: {
    cause: 'A ResourceQuota of the runtime namespace is used up.',
    advice: 'Raise the quota, lower `runtime.resources`, or suspend others.',
  },
  Forbidden: {
    cause: 'The controller or the pod is refused, by RBAC or admission.',
    advice:
      "Read the message; compare Role and RoleBinding in the runtime namespace with the chart's, and look at admission policies.",
  },
  ApplyFailed: {
    cause: 'The API server refuses a child for another reason.',
    advice: 'Read the message and the log of `uswarm-controller`.',
  },
  SecretMissing: {
    cause: 'The Secret of `envSecretRef`, or a key in it, is not there.',
    advice: 'Create it in the runtime namespace; the pod starts by itself.',
  },
  ImagePullBackOff: {
    cause: 'The image cannot be pulled; the message says why, if known.',
    advice: 'Correct tag, registry or `runtime.pods.imagePullSecrets`.',
  },
  MountFailed: {
    cause: 'A volume of the pod cannot be mounted; the message names it.',
    advice: 'Our pods have only `emptyDir` volumes: look at the disk of the node, and at what adds volumes to pods.',
  },
  SandboxFailed: {
    cause: 'The node cannot set up the pod or its network, for example because it has no pod IPs left.',
    advice: '`kubectl describe` of the pod; look at the network plugin and its address range on that node.',
  },
  NodeLost: {
    cause: 'The node of the pod no longer reports to the API server.',
    advice: 'Look at the node. Kubernetes replaces the pod after the toleration time, 300 s by default.',
  },
  Evicted: {
    cause: 'The node evicted the pod: memory or disk was low, or a volume outgrew its limit.',
    advice: 'The message says what was short. A new pod starts by itself; add memory or disk if it happens again.',
  },
  ReadinessFailed: {
    cause: 'The runtime was Ready and no longer passes its readiness probe.',
    advice: '`kubectl logs` of the pod; look at CPU throttling and at the load of the node.',
  },
  SidecarCrashing: {
    cause: 'A container that is not ours, such as an injected sidecar, does not stay up.',
    advice: '`kubectl logs` of the container that the message names; look at what injects it.',
  },
  OOMKilled: {
    cause: 'The runtime used more memory than its limit, or filled its heap.',
    advice: 'Raise `runtime.resources.limits.memory`.',
  },
  CrashLoopBackOff: {
    cause: 'The runtime keeps stopping.',
    advice: '`kubectl logs --previous` of the pod.',
  },
  Unschedulable: {
    cause: "No node takes the pod; the message is the scheduler's.",
    advice: 'Add nodes, lower the requests, or correct `runtime.pods.nodeSelector` and `tolerations`.',
  },
  StartDeadlineExceeded: {
    cause: 'The pod did not become ready in 300 s since it was last available, and nothing says why.',
    advice: '`kubectl describe` and `kubectl logs` of the pod.',
  },
  DatabaseUnreachable: {
    cause: 'The database of `SVC_DATABASE_*` does not answer the webhook.',
    advice: 'Bring it back, or correct the settings. Runtimes that were Ready stay so.',
  },
  WebhookUnavailable: {
    cause: 'The webhook has not answered for 10 s, or wrongly, and this UserSwarm needs it.',
    advice: 'Look at `uswarm-webhook`: its pods and their log. Runtimes go on; changes wait.',
  },
  NotYetSynced: {
    cause: 'The controller has not written anything.',
    advice:
      'Stays only where no controller runs: look at `uswarm-controller`. With Metacontroller `Synced` always says this, and means nothing.',
  },
};

/** @returns undefined for a reason that this version does not know */
export const adviceFor = (reason: string): Advice | undefined =>
  Object.hasOwn(REASON_ADVICE, reason) ? REASON_ADVICE[reason as Reason] : undefined;
