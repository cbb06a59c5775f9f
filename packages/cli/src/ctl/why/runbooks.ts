import type { Reason } from '@uswarm/contract/userswarm';

const STUCK = 'UswarmRuntimesStuckProgressing';

/** The runbook, a file in docs/runbooks, for each reason that needs an action. */
const RUNBOOKS: Readonly<Record<Exclude<Reason, 'Available' | 'Suspended' | 'Starting'>, string>> = {
  Deleting: 'UswarmRuntimesStuckDeleting',
  Queued: 'UswarmStartsQueued',
  Unreachable: 'UswarmRuntimesUnreachable',
  NotYetSynced: 'UswarmControllerNoLeader',
  InvalidSpec: 'UswarmRuntimesInError',
  RenderingFailed: 'UswarmRuntimesInError',
  PolicyDenied: 'UswarmRuntimesInError',
  DatabaseUnreachable: 'UswarmDatabaseDown',
  WebhookUnavailable: 'UswarmWebhookUnavailable',
  WebhookInvalid: 'UswarmWebhookUnavailable',
  NamespaceMissing: STUCK,
  NameConflict: STUCK,
  QuotaExceeded: STUCK,
  Forbidden: STUCK,
  ApplyFailed: STUCK,
  SecretMissing: STUCK,
  ImagePullBackOff: STUCK,
  MountFailed: STUCK,
  SandboxFailed: STUCK,
  NodeLost: STUCK,
  Evicted: STUCK,
  ReadinessFailed: STUCK,
  SidecarCrashing: STUCK,
  OOMKilled: STUCK,
  CrashLoopBackOff: STUCK,
  Unschedulable: STUCK,
  StartDeadlineExceeded: STUCK,
};

/** @returns the runbook's file name without `.md`, or null if the reason has none */
export const runbookOf = (reason: string): string | null =>
  Object.hasOwn(RUNBOOKS, reason) ? RUNBOOKS[reason as keyof typeof RUNBOOKS] : null;
