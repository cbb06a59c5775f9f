import { progressOf } from './process-progress.js';

/** Decides whether a process that does not answer is stuck, or only waits for a busy machine. */
export interface Suspicions {
  /** Call it when the process has not answered for a while. @returns true to replace it */
  isStuck(workspaceId: string, pid: number): boolean;
  /** Call it when the process answers again, or has ended. */
  forget(workspaceId: string): void;
}

/**
 * A process that is ready to run is held up by the machine, and replacing it would make the machine busier. It may also
 * be in an endless loop, so it is stuck once it has used `processorMs` of processor time without an answer.
 */
export function createSuspicions({ processorMs }: { processorMs: number }): Suspicions {
  /** Processor time at the first suspicion. */
  const since = new Map<string, { pid: number; processorMs: number }>();
  return {
    isStuck(workspaceId, pid) {
      const now = progressOf(pid);
      if (now === undefined || !now.isHeldUp) return true;
      const known = since.get(workspaceId);
      if (known?.pid === pid) return now.processorMs - known.processorMs > processorMs;
      since.set(workspaceId, { pid, processorMs: now.processorMs });
      return false;
    },
    forget: (workspaceId) => void since.delete(workspaceId),
  };
}
