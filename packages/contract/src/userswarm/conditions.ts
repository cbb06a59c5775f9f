/** UserSwarm phases, conditions and reasons. */

/** In order of precedence: the first one that applies is the phase. */
export const PHASES = ['Deleting', 'Error', 'Suspended', 'Ready', 'Progressing'] as const;
export type UserSwarmPhase = (typeof PHASES)[number];

export const CONDITIONS = [
  'Ready',
  'ConfigValid',
  'DependenciesReachable',
  'RuntimeAvailable',
  'Suspended',
  'UpToDate',
  'Synced',
] as const;
export type ConditionType = (typeof CONDITIONS)[number];

/** Actionable causes. The names are stable, so alerts can use them. */
export const FAILURE_REASONS = {
  InvalidSpec: 'Error',
  RenderingFailed: 'Error',
  PolicyDenied: 'Error',
  ImagePullBackOff: 'Progressing',
  CrashLoopBackOff: 'Progressing',
  OOMKilled: 'Progressing',
  Unschedulable: 'Progressing',
  QuotaExceeded: 'Progressing',
  SecretMissing: 'Progressing',
  NameConflict: 'Progressing',
  NamespaceMissing: 'Progressing',
  Forbidden: 'Progressing',
  ApplyFailed: 'Progressing',
  DatabaseUnreachable: 'Progressing',
  StartDeadlineExceeded: 'Progressing',
  MountFailed: 'Progressing',
  SandboxFailed: 'Progressing',
  NodeLost: 'Progressing',
  Evicted: 'Progressing',
  ReadinessFailed: 'Progressing',
  SidecarCrashing: 'Progressing',
} as const satisfies Record<string, UserSwarmPhase>;
export type FailureReason = keyof typeof FAILURE_REASONS;

/** Reasons of `Synced: False`, the only condition that the controller itself sets. */
export const SYNC_FAILURES = [
  'NameConflict',
  'QuotaExceeded',
  'NamespaceMissing',
  'Forbidden',
  'WebhookUnavailable',
  'WebhookInvalid',
  'ApplyFailed',
] as const;
export type SyncFailure = (typeof SYNC_FAILURES)[number];

/** Failures in the webhook itself. They end when it responds. */
export const WEBHOOK_FAILURES: ReadonlySet<string> = new Set<SyncFailure>(['WebhookUnavailable', 'WebhookInvalid']);
