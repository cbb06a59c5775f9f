import type { Condition, KubernetesObject, UserSwarm } from '@uswarm/contract/userswarm';

// The parts of Kubernetes' objects that an explanation is made of; an API server wrote them.

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

/** Something that could not be read, and why. */
export interface Unreadable {
  what: string;
  why: string;
}

/** Everything that the cluster says about one UserSwarm. */
export interface Findings {
  /** A status may not be there yet. */
  swarm: UserSwarm;
  serviceAccount: KubernetesObject | undefined;
  service: KubernetesObject | undefined;
  deployment: Deployment | undefined;
  pods: Pod[];
  events: RecordedEvent[];
  quotas: Quota[];
  /** Of uswarm itself: controller and webhook. */
  platform: Deployment[];
  /** The CompositeController in place of our controller. */
  composite: KubernetesObject | undefined;
  lease: Lease | undefined;
  unreadable: Unreadable[];
}
