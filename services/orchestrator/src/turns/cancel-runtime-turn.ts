import type { Logger } from '@uswarm/service-kit';
import type { RuntimeClient } from '../runtimes/runtime-client.js';
import { getRuntime } from '../records/runtimes.store.js';
import type { TurnSignals } from './turn-signals.js';
import type { RunningTurn } from './turns.store.js';
import type { Database } from '../platform/database/database.js';

/** Asks the runtime to cancel a turn, and tells the process that runs it. Not awaited; does nothing if the runtime is unreachable. */
export type CancelRuntimeTurn = (workspaceId: string, turn: Pick<RunningTurn, 'id' | 'generation'>) => void;

export function createRuntimeTurnCancellation(
  database: Database,
  client: Pick<RuntimeClient, 'stopTurn'>,
  signals: Pick<TurnSignals, 'send'>,
  logger: Logger,
): CancelRuntimeTurn {
  async function stop(...[workspaceId, { id: turnId, generation }]: Parameters<CancelRuntimeTurn>): Promise<void> {
    const runtime = await getRuntime(database, workspaceId);
    if (runtime?.phase !== 'Ready' || runtime.address === null) return;
    await client.stopTurn({ workspaceId, address: runtime.address }, { turnId, generation });
  }
  return (workspaceId, turn) => {
    signals.send('stop', turn.id);
    stop(workspaceId, turn).catch((error: unknown) => logger.debug({ err: error, turn: turn.id }, 'not stopped'));
  };
}
