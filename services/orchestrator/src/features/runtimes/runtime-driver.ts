import type { InternalPhase } from '../../database/schema.js';

/** What a runtime is to be. */
export interface RuntimeSpec {
  workspaceId: string;
  userId: string;
}

/** What is there now. */
export interface RuntimeObservation {
  phase: Extract<InternalPhase, 'Pending' | 'Progressing' | 'Ready' | 'Error'>;
  /** A stable, short cause; empty while all is well. */
  reason: string;
  /** `http://host:port`, once there is one. */
  address: string | null;
}

/** Where runtimes run. Level-triggered: each call brings the world closer to what is wanted. */
export interface RuntimeDriver {
  /**
   * Has the runtime run, and says how it is. `unresponsive`: it runs, and has not answered for a
   * while; a driver whose platform does not see to that itself starts it anew.
   */
  ensure(spec: RuntimeSpec, state: { unresponsive: boolean }): Promise<RuntimeObservation>;
  /** @returns true once nothing of the runtime is left. */
  remove(workspaceId: string): Promise<boolean>;
  /** Hints that a runtime changed by itself. */
  onChange(listener: (workspaceId: string) => void): void;
}
