import { ConnectError } from '@connectrpc/connect';
import type { RuntimeClient, RuntimeTarget } from '../../runtimes/runtime-client.js';
import { isBackground } from '../background-turns.js';
import { type LoadedRequest, type LoadRequest, NEW_REPLY } from './load-turn-request.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnStart } from '../writer/turn-writes.js';

/** Bounds how much later users see that the turn has begun if its runtime does not respond. */
const RESPONDS_WITHIN_MS = 1_000;
const FILE_PATIENCE = { withinMs: RESPONDS_WITHIN_MS, recordingsWithinMs: RESPONDS_WITHIN_MS };

/** Read before the turn begins, so that one transaction begins it and stores this. */
export interface PreparedTurn {
  instanceId: string;
  loaded: LoadedRequest;
}

export const startOf = ({ instanceId, loaded }: PreparedTurn): TurnStart => {
  const { request, context, untrusted } = loaded;
  const instance = { id: instanceId, budgeted: request.budgeted, context: request.journaled ? context : undefined };
  return { instance, untrusted };
};

export interface TurnPreparationDeps {
  client: Pick<RuntimeClient, 'identify'>;
  loadRequest: LoadRequest;
}

/**
 * Prepares a turn that answers a user for the first time.
 *
 * @returns undefined for other turns, if the runtime does not respond, or if files take long to read
 */
export const createTurnPreparation =
  ({ client, loadRequest }: TurnPreparationDeps) =>
  async (turn: TurnRow, to: RuntimeTarget, signal: AbortSignal): Promise<PreparedTurn | undefined> => {
    const isNew = turn.status === 'queued' && turn.reply_message_id === null && turn.resumes_message_id === null;
    if (!isNew || isBackground(turn)) return undefined;
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(RESPONDS_WITHIN_MS)]);
      const { instanceId, ...runtime } = await client.identify(to, patience);
      const loaded = await loadRequest(turn, NEW_REPLY, { ...runtime, patience: FILE_PATIENCE, signal });
      // Users see that the agent reads while its files are read.
      return loaded.hasFiles ? { instanceId, loaded } : undefined;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectError)) throw error;
      // The turn begins without it, and waits for its runtime.
      return undefined;
    }
  };
