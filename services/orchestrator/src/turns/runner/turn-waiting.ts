import type { Clock } from '@uswarm/service-kit';
import type { RuntimeTarget } from '../../runtimes/runtime-client.js';
import { isBackground } from '../background-turns.js';
import { targetOf } from './runtime-target.js';
import type { RuntimeOfTurn } from '../known-of-turn.js';
import type { TurnRow, TurnToRun } from '../turns.store.js';

/** A turn fails if its runtime is not ready within this time. */
export const READY_WITHIN_MS = 10 * 60_000;
/** A turn is made due when its runtime becomes ready. This delay covers a crash in the process that noticed it. */
const NOT_READY_MS = 90_000;

/** A delay, or a wait that took too long; otherwise the runtime in which the turn can begin, if it is known. */
export type TurnWait = { againInMs: number } | 'too late' | { to: RuntimeTarget | undefined };

/** @throws RuntimeSuspended */
export function waitOf({ runtime, ...turn }: TurnToRun, clock: Clock): TurnWait {
  // A turn that is about to end needs no runtime. Replies that have not begun are stopped without their job.
  const isStopped = turn.stop_requested && (turn.status === 'running' || isBackground(turn));
  if (turn.user_banned || isStopped) return { to: undefined };
  // A workspace's jobs can become due early, for example when its runtime is ready.
  const waitMs = (turn.waits_until?.getTime() ?? 0) - clock.now().getTime();
  if (waitMs > 0) return { againInMs: waitMs };
  // A turn also waits if its runtime was suspended while it ran.
  const to = targetOf(turn.workspace_id, runtime);
  return turn.status === 'queued' && to === undefined ? waitForRuntime(turn, runtime, clock) : { to };
}

function waitForRuntime(turn: TurnRow, runtime: RuntimeOfTurn | undefined, clock: Clock): TurnWait {
  const healthySince = Math.max(
    turn.created_at.getTime(),
    runtime?.identified_at?.getTime() ?? 0,
    runtime?.wanted_at.getTime() ?? 0,
  );
  const leftMs = healthySince + READY_WITHIN_MS - clock.now().getTime();
  return leftMs < 0 ? 'too late' : { againInMs: Math.min(NOT_READY_MS, leftMs + 1) };
}
