/** Identifies a process. Unlike its id alone, it is not reused. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in a format of the operating system; only for comparison. */
  started: string;
}

/** @returns undefined if the process does not exist or is a zombie */
export function identifyProcess(pid: number): ProcessIdentity | undefined;

/** Whether exactly this process runs, and not a later one with the same id. */
export function stillRuns(identity: ProcessIdentity): boolean;

export function ownIdentity(): ProcessIdentity;

/** True if a process with this id exists, even one of another user. It may be another program than expected. */
export function processIsAlive(pid: number): boolean;

/** The column of `ps` for this process; empty if it does not exist. */
export function ps(pid: number, column: string): string;
