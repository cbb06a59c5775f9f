import type { InternalPhase } from '../../platform/database/schema.js';

export interface RuntimeSpec {
  workspaceId: string;
  userId: string;
  /** A suspended runtime keeps everything except its process. */
  suspended: boolean;
  /** Requests the rollout of a pending revision; undefined keeps the current request. */
  rollout?: { requested: boolean } | undefined;
  /**
   * Shown on the platform: the runtime stopped responding at this time although the platform finds it ready. Null
   * removes the mark, undefined keeps it.
   */
  unreachableSince?: Date | null | undefined;
}

export interface RuntimeObservation {
  phase: InternalPhase;
  /** A stable one-word cause; empty if the runtime is healthy. */
  reason: string;
  /** `http://host:port`; null if the runtime has none. */
  address: string | null;
  /**
   * `http://host:port` before the platform has found the starting runtime ready. It may respond there already;
   * undefined if the platform does not report this.
   */
  startingAddress?: string;
  /** False while the platform has not acted on the latest desired state. */
  current: boolean;
  /** Set by `peek` only: `ensure` would change something. */
  outdated?: boolean;
  /** Present if a revision is pending. */
  rollout?: { requested: boolean; granted: boolean };
  /** The platform is unreachable, and this is the last known state. */
  assumed?: true;
  /** Present if the platform shows that the runtime is unreachable. */
  unreachable?: true;
}

/** The platform is unreachable, so the runtime's state is unknown. */
export class PlatformUnreachable extends Error {
  override name = 'PlatformUnreachable';
}

/** Creates, suspends and deletes runtimes on one platform. Level-triggered: repeat a call until its result is final. */
export interface RuntimeDriver {
  /**
   * Applies the spec and returns the observed state. `unresponsive`: the runtime runs but has stopped responding; a
   * driver whose platform does not handle that restarts it. After `signal` is aborted, no runtime is created: another
   * replica may have deleted it.
   *
   * @throws PlatformUnreachable
   */
  ensure(spec: RuntimeSpec, state: { unresponsive: boolean; signal?: AbortSignal }): Promise<RuntimeObservation>;
  /**
   * Returns the last known state by workspace without calling the platform. Runtimes that do not exist are left out.
   *
   * @throws PlatformUnreachable if the state is unknown
   */
  peek(specs: readonly RuntimeSpec[]): Promise<Map<string, RuntimeObservation>>;
  /** True if the platform detects a runtime that stops responding and reports it to `onChange`. */
  readonly reportsLiveness: boolean;
  /** @returns true when the runtime is deleted completely. @throws PlatformUnreachable */
  remove(workspaceId: string): Promise<boolean>;
  onChange(listener: (workspaceId: string) => void): void;
}

export interface ChosenDriver {
  driver: RuntimeDriver;
  close(): Promise<void>;
}
