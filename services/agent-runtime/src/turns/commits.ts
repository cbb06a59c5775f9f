import type { Resolution } from '@uswarm/runtime-proto';
import { createWaiters } from './waiters.js';

/** A turn's state that the orchestrator has committed. */
export interface Commits {
  /** The events up to this number are committed. A lower number than before has no effect. */
  advance(through: number): void;
  /** Resolves when the events up to this number are committed. @throws the reason of `signal` */
  reached(number: number, signal: AbortSignal): Promise<void>;
  /** Calls `release` when the event is committed: the orchestrator does not read its large fields again. */
  onCommit(number: bigint, release: () => void): void;
  /**
   * Calls `release` when the outcome of a tool request is known: the orchestrator does not execute the request again.
   */
  onResolved(callId: string, release: () => void): void;
  /** Stores tool request outcomes. A call's first outcome counts; that it waits is none. */
  resolve(resolutions: readonly Resolution[]): void;
  /** Outcome of a tool request. @throws the reason in `signal` */
  resolution(callId: string, signal: AbortSignal): Promise<Resolution>;
  /** The answer to an announced call for which the user is asked. @throws the reason in `signal` */
  decision(callId: string, signal: AbortSignal): Promise<Resolution>;
}

export function createCommits(): Commits {
  const waiters = createWaiters();
  const resolved = new Map<string, Resolution>();
  let committed = 0;
  const requests = new Map<string, () => void>();
  let kept: { number: number; release: () => void }[] = [];

  async function first(callId: string, counts: (one: Resolution) => boolean, signal: AbortSignal): Promise<Resolution> {
    const find = (): Resolution | undefined => {
      const found = resolved.get(callId);
      return found !== undefined && counts(found) ? found : undefined;
    };
    await waiters.until(() => find() !== undefined, signal);
    const resolution = find();
    if (resolution === undefined) throw new TypeError('the tool request has no outcome');
    return resolution;
  }

  return {
    advance(through) {
      if (through <= committed) return;
      committed = through;
      for (const { number, release } of kept) if (number <= committed) release();
      kept = kept.filter(({ number }) => number > committed);
      waiters.changed();
    },
    reached: (number, signal) => waiters.until(() => committed >= number, signal),
    onCommit: (number, release) => void kept.push({ number: Number(number), release }),
    onResolved: (callId, release) => void requests.set(callId, release),
    resolve(resolutions) {
      for (const resolution of resolutions) {
        const { callId } = resolution;
        if (resolved.get(callId)?.waits !== false) resolved.set(callId, resolution);
        requests.get(callId)?.();
        requests.delete(callId);
      }
      waiters.changed();
    },
    resolution: (callId, signal) => first(callId, () => true, signal),
    decision: (callId, signal) => first(callId, ({ waits }) => !waits, signal),
  };
}
