import { ApiError, type ModelCallReservation, type ModelCallTerms, type ModelCallUsage } from '@uswarm/contract';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { ModelCatalog, ModelPrice } from '../../platform/core/models.js';
import type { TurnMetrics } from '../turn-metrics.js';
import type { WarnAboutBudget } from '../../metering/budget-warning.js';
import { requireWithin, type UsageLimits } from '../../metering/usage-limits.js';
import { lockTurnOfCall, reserveModelCall, releaseModelCall, settleModelCall } from './model-calls.store.js';

export interface ModelCallServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  limits: Pick<UsageLimits, 'allowanceOf'>;
  models: Pick<ModelCatalog, 'entry' | 'price'>;
  transcriptionPrice: ModelPrice;
  warnAboutBudget: WarnAboutBudget;
  metrics: Pick<TurnMetrics, 'used'>;
}

export interface ModelCallService {
  /**
   * Counts a call's estimated tokens before it is made. A user's calls reserve one after the other, so that concurrent
   * calls exceed a limit by at most one call's estimate.
   *
   * @returns undefined if the workspace does not have the turn; `budget_reached` if a budget that limits the turn is
   * spent
   * @throws ApiError `turn_not_running`, `token_limit_reached`
   */
  reserve(call: ModelCallReservation): Promise<ModelCallTerms | 'budget_reached' | undefined>;
  /**
   * Replaces the estimate by the tokens that the provider reported or that the gateway estimated. Idempotent.
   *
   * @returns false if the call does not exist
   */
  settle(callId: string, usage: ModelCallUsage): Promise<boolean>;
}

const countsOf = (usage: ModelCallUsage) => ({
  promptTokens: usage.prompt_tokens,
  completionTokens: usage.completion_tokens,
});

export function createModelCallService(deps: ModelCallServiceDeps) {
  const { withTransaction, database, limits, models } = deps;
  const service: ModelCallService = {
    reserve: (call) =>
      withTransaction(async (tx) => {
        const turn = await lockTurnOfCall(tx, { workspaceId: call.workspace_id, turnId: call.turn_id });
        if (turn === undefined || turn.agentId !== call.agent_id) return undefined;
        // A recording is transcribed before or in the turn, unless the turn ends.
        if (call.purpose === 'transcription' && turn.ending) throw new ApiError('turn_not_running');
        // A summary is written after the turn.
        if (call.purpose === 'turn' && (turn.status !== 'running' || turn.ending)) {
          throw new ApiError('turn_not_running');
        }
        const allowance = limits.allowanceOf(turn);
        const { userId, conversationId } = turn;
        const isRecording = call.purpose === 'transcription';
        const price = isRecording ? deps.transcriptionPrice : models.price(call.requested_model, call.provider);
        const usageTurnId = call.purpose === 'summary' ? call.turn_id : turn.usageTurnId;
        const before = await reserveModelCall(
          tx,
          { ...call, userId, conversationId, usageTurnId, ...price },
          allowance,
        );
        requireWithin(before, allowance);
        if (before.budgetSpent) return 'budget_reached';
        const entry = isRecording ? undefined : models.entry(call.requested_model, call.provider);
        const { context_window = null } = entry ?? {};
        return { context_window, prices: price.prices };
      }),

    async settle(callId, usage) {
      if (usage.outcome === 'refused') return (await releaseModelCall(database, callId)) !== undefined;
      const settled = await withTransaction(async (tx) => {
        const call = await settleModelCall(tx, callId, usage);
        const { conversationId = null, workspaceId = '' } = call ?? {};
        if (conversationId !== null) await deps.warnAboutBudget({ workspaceId, conversationId }, tx);
        return call;
      });
      if (settled?.isNew === true) deps.metrics.used({ ...settled, ...countsOf(usage) });
      return settled !== undefined;
    },
  };
  return service;
}
