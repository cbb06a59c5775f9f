import type { Condition, UserSwarm } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';

// The Kubernetes fields that `uswarmctl explain` reads.

export interface Terminated {
  reason?: string;
  exitCode?: number;
  finishedAt?: string;
  message?: string;
}
export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: Terminated;
}
interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: ContainerState;
  lastState?: ContainerState;
}
type StatusCondition = Pick<Condition, 'reason' | 'message'> & { type: string; status: string };

export interface Pod extends KubernetesObject {
  spec?: { nodeName?: string };
  status?: { phase?: string; conditions?: StatusCondition[]; containerStatuses?: ContainerStatus[] };
}
export interface Deployment extends KubernetesObject {
  spec?: { replicas?: number };
  status?: { readyReplicas?: number; updatedReplicas?: number; conditions?: StatusCondition[] };
}
export interface Quota extends KubernetesObject {
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}
export interface Lease extends KubernetesObject {
  spec?: { holderIdentity?: string; renewTime?: string };
}
export interface RecordedEvent extends KubernetesObject {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  eventTime?: string | null;
  lastTimestamp?: string | null;
  involvedObject?: { kind?: string; name?: string };
}

/** Name for the controller and webhook Deployments in `Unreadable`. */
export const PLATFORM_DEPLOYMENTS = 'Deployments of uswarm';

/** An object that could not be read, and the error. */
export interface Unreadable {
  what: string;
  why: string;
}

export interface FailedTurn {
  id: string;
  age_s: number;
  error: string | null;
  /** Null without tracing. */
  trace_id: string | null;
}

/** All objects that belong to one UserSwarm. */
export interface Findings {
  /** Has no status before the first reconcile. */
  swarm: UserSwarm;
  serviceAccount: KubernetesObject | undefined;
  service: KubernetesObject | undefined;
  deployment: Deployment | undefined;
  replicaSets: KubernetesObject[];
  pods: Pod[];
  events: RecordedEvent[];
  quotas: Quota[];
  /** Controller and webhook Deployments. */
  platform: Deployment[];
  /** The CompositeController, if Metacontroller replaces the controller. */
  composite: KubernetesObject | undefined;
  lease: Lease | undefined;
  /** Newest first; absent if the orchestrator was not asked. */
  failedTurns?: FailedTurn[];
  unreadable: Unreadable[];
}
