/** A job that this process holds until its lease expires. */
export interface LeasedJob {
  kind: string;
  subjectId: string;
  workspaceId: string;
  leaseId: string;
  attempts: number;
  /** How many times its handler failed. */
  failures: number;
  /** Claimed after the lease of another holder expired: that holder may have crashed while handling it. */
  takenOver: boolean;
}
