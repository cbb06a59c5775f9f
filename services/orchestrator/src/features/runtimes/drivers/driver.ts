import type { InternalPhase } from '../../../database/schema.js';

/** What a runtime is to be. */
export interface RuntimeSpec {
  workspaceId: string;
  userId: string;
  /** It keeps everything but its process. */
  suspended: boolean;
  /** Whether it may be stopped for a moment, so that a new revision can take its place; absent leaves that as it is. */
  rollout?: { wanted: boolean } | undefined;
}

/** What is there now. */
export interface RuntimeObservation {
  phase: InternalPhase;
  /** A stable, short cause; empty while all is well. */
  reason: string;
  /** `http://host:port`, once there is one. */
  address: string | null;
  /** False while this tells of an earlier wish, and the platform has yet to act on the latest. */
  current: boolean;
  /** Only of `peek`: `ensure` would change something. */
  outdated?: boolean;
  /** A new revision waits for it: whether the platform knows that it may be stopped, and said that it should be now. */
  rollout?: { wanted: boolean; granted: boolean };
}

/** The platform cannot be asked just now: nothing is known of the runtime, neither good nor bad. */
export class PlatformUnreachable extends Error {
  override name = 'PlatformUnreachable';
}

/** Where runtimes run. Level-triggered: each call brings the world closer to what is wanted. */
export interface RuntimeDriver {
  /**
   * Has the runtime be as the spec says, and says how it is. `unresponsive`: it runs, and has not
   * answered for a while; a driver whose platform does not see to that itself starts it anew. Once
   * `signal` is aborted, none is made that was not there: another may have removed it for good.
   *
   * @throws PlatformUnreachable
   */
  ensure(spec: RuntimeSpec, state: { unresponsive: boolean; signal?: AbortSignal }): Promise<RuntimeObservation>;
  /**
   * What is there as far as it is known, without changing or asking anything. A runtime that is not there is left out.
   *
   * @returns by workspace
   * @throws PlatformUnreachable while nothing is known
   */
  peek(specs: readonly RuntimeSpec[]): Promise<Map<string, RuntimeObservation>>;
  /** Whether the platform itself notices a runtime that stops answering, and calls `onChange` for it. */
  readonly reportsLiveness: boolean;
  /** @returns true once nothing of the runtime is left. @throws PlatformUnreachable */
  remove(workspaceId: string): Promise<boolean>;
  /** Calls the listener when a runtime may have changed by itself. */
  onChange(listener: (workspaceId: string) => void): void;
}
