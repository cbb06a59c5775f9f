import type { FailureReason, SyncFailure } from './conditions.js';

/** All reasons for the conditions `Ready` and `Synced`. */
export type Reason =
  | 'Available'
  | 'Suspended'
  | 'Deleting'
  | 'Starting'
  | 'Queued'
  | 'Unreachable'
  | 'NotYetSynced'
  | FailureReason
  | SyncFailure;

export interface Advice {
  cause: string;
  /** Action for the operator. */
  advice: string;
}

/** Source for the reason tables in docs/userswarm.md and for `uswarmctl explain`. */
export const REASON_ADVICE: Readonly<Record<Reason, Advice>> = {
  Available: {
    cause: 'The runtime is ready.',
    advice: 'Nothing.',
  },
  Unreachable: {
    cause: 'The pod is ready, but the orchestrator has not reached the runtime for 30 s.',
    advice:
      'Check NetworkPolicies between `uswarm-orchestrator` and the runtime namespace. If the alert `UswarmRuntimesUnreachable` counts many, check the orchestrator and its network first. Messages wait.',
  },
  Suspended: {
    cause: 'Suspended for idleness or by an operator.',
    advice:
      'Nothing: a message resumes an idle runtime. To end a suspension by an operator, see "Holding a runtime" in docs/userswarm.md.',
  },
  Deleting: {
    cause:
      'Pods or children are being deleted, or other programs keep them or the UserSwarm; the message lists objects and finalizers.',
    advice: 'If it lasts for minutes, check the owners of the finalizers, and the nodes of the pods.',
  },
  Starting: {
    cause: 'The pod is being created or is starting.',
    advice: 'Nothing; after 300 s it becomes `StartDeadlineExceeded`.',
  },
  Queued: {
    cause: 'The start concurrency limit is reached (`start.maxConcurrent`).',
    advice: 'Nothing: the queue is first in, first out.',
  },
  InvalidSpec: {
    cause: 'The spec passed CRD validation but is invalid.',
    advice: 'Correct the field in the message. Check that the versions of CRD and webhook match.',
  },
  PolicyDenied: {
    cause: 'Namespace, image, Secret or resources are not allowed.',
    advice:
      'Correct the spec or allow it: `extraNamespaces`, `imagePrefixes`, `sharedEnvSecrets`, `maxResources` in `runtime` (values).',
  },
  RenderingFailed: {
    cause: 'An internal error of the webhook.',
    advice: 'Check the log of `uswarm-webhook` and report the error.',
  },
  NamespaceMissing: {
    cause: 'The runtime namespace does not exist or is being deleted.',
    advice:
      'Run `helm upgrade`, which restores `runtime.namespace`. Create one of `runtime.extraNamespaces` first, or remove it there.',
  },
  NameConflict: {
    cause: 'An object with another owner has the name of a child.',
    advice: 'Delete or rename the object in the message.',
  },
  QuotaExceeded: {
    cause: 'A ResourceQuota of the runtime namespace is exhausted.',
    advice: 'Raise the quota, lower `runtime.resources`, or suspend other runtimes.',
  },
  Forbidden: {
    cause: 'RBAC or admission rejects the controller or the pod.',
    advice:
      'Read the message; compare Role and RoleBinding in the runtime namespace with those of the chart, and check admission policies.',
  },
  ApplyFailed: {
    cause: 'The API server rejects a child for another reason, or a finalizer keeps a deleted child.',
    advice: 'Check the message and the log of `uswarm-controller`. Repair the owner of the finalizer, or remove it.',
  },
  SecretMissing: {
    cause: 'The Secret of `envSecretRef` or one of its keys does not exist.',
    advice: 'Create it in the runtime namespace; the pod then starts automatically.',
  },
  ImagePullBackOff: {
    cause: 'The image cannot be pulled; the message has the cause, if known.',
    advice: 'Correct tag, registry or `runtime.pods.imagePullSecrets`.',
  },
  MountFailed: {
    cause: 'A volume of the pod cannot be mounted; the message has its name.',
    advice:
      'Runtime pods have only `emptyDir` volumes: check the disk of the node, and webhooks that add volumes to pods.',
  },
  SandboxFailed: {
    cause: 'The node cannot set up the pod or its network, for example because it has no pod IPs left.',
    advice: 'Run `kubectl describe` on the pod; check the network plugin and its address range on that node.',
  },
  NodeLost: {
    cause: 'The node of the pod no longer reports to the API server.',
    advice: 'Check the node. Kubernetes replaces the pod after the toleration time, 300 s by default.',
  },
  Evicted: {
    cause: 'The node evicted the pod: memory or disk was low, or a volume exceeded its limit.',
    advice: 'The message has the resource. A new pod starts automatically; add memory or disk if it recurs.',
  },
  ReadinessFailed: {
    cause: 'The runtime was Ready and fails its readiness probe.',
    advice: 'Run `kubectl logs` on the pod; check CPU throttling and the load of the node.',
  },
  SidecarCrashing: {
    cause: 'A foreign container, such as an injected sidecar, keeps crashing.',
    advice: 'Run `kubectl logs` on the container in the message; check what injects it.',
  },
  OOMKilled: {
    cause: 'The runtime exceeded its memory limit or filled its heap.',
    advice: 'Raise `runtime.resources.limits.memory`.',
  },
  CrashLoopBackOff: {
    cause: 'The runtime keeps crashing.',
    advice: 'Run `kubectl logs --previous` on the pod.',
  },
  Unschedulable: {
    cause: 'No node fits the pod; the message comes from the scheduler.',
    advice: 'Add nodes, lower the requests, or correct `runtime.pods.nodeSelector` and `tolerations`.',
  },
  StartDeadlineExceeded: {
    cause: 'The pod did not become ready within 300 s, for an unknown cause.',
    advice: 'Run `kubectl describe` and `kubectl logs` on the pod.',
  },
  DatabaseUnreachable: {
    cause: 'The webhook cannot reach the database of `SVC_DATABASE_*`.',
    advice: 'Restore the database or correct the settings. Runtimes that were Ready stay Ready.',
  },
  WebhookUnavailable: {
    cause:
      'The webhook is unreachable, slow, or returned an HTTP error for 10 s, and this UserSwarm needs it. The message has the present cause.',
    advice: 'Check the pods of `uswarm-webhook` and their logs. Runtimes keep running; changes are pending.',
  },
  WebhookInvalid: {
    cause: 'For 10 s, the responses of the webhook cannot be used; the message names the first rule that they violate.',
    advice:
      'Nothing of such a response is applied. Check that the Service `uswarm-webhook` selects only its own pods, and that the versions of webhook and controller match.',
  },
  NotYetSynced: {
    cause: 'The controller has not written the children yet.',
    advice:
      'If it lasts, no controller is running: check `uswarm-controller`. With Metacontroller, `Synced` always has this reason and can be ignored.',
  },
};

/** @returns undefined for an unknown reason */
export const adviceFor = (reason: string): Advice | undefined =>
  Object.hasOwn(REASON_ADVICE, reason) ? REASON_ADVICE[reason as Reason] : undefined;
