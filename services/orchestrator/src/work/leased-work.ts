/** A row of background work that this process holds until its lease runs out. */
export interface LeasedWork {
  kind: string;
  subjectId: string;
  workspaceId: string;
  leaseId: string;
  attempts: number;
  /** How often handling it ended in an error. */
  failures: number;
  /** Another holder's lease ran out: it may have died in the middle. */
  takenOver: boolean;
}
