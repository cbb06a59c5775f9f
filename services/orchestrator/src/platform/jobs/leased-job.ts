export interface LeasedJob {
  kind: string;
  subjectId: string;
  workspaceId: string;
  leaseId: string;
  attempts: number;
  failures: number;
  /** Claimed after another holder's lease expired: that holder may have crashed while handling it. */
  takenOver: boolean;
}
