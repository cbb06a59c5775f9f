import { systemClock } from '@uswarm/service-kit';
import type { Database } from '../src/platform/database/database.js';
import { createWithTransaction } from '../src/platform/database/transaction.js';
import type { Plan } from '../src/platform/core/catalog.js';
import type { ModelPrice } from '../src/platform/core/models.js';
import { createModelCallService } from '../src/turns/model-calls/model-calls.service.js';
import { createPlans } from '../src/metering/plans.js';
import type { Reserved } from '../src/turns/writer/turn-budget.js';
import type { TurnWriter } from '../src/turns/writer/turn-writes.js';
import type { TurnRow } from '../src/turns/turns.store.js';
import type { Attempt } from '../src/metering/reservations.store.js';
import { createUsageLimits } from '../src/metering/usage-limits.js';
import type { Stores } from './stores.js';

/** This process reserves the tokens for model calls. */
export type Mode = 'runtime' | 'gateway';

export interface Tokens {
  prompt: number;
  completion: number;
}

/** A model call that the server may count. */
export interface MeteredCall {
  step: number;
  callId: string;
  estimate: Tokens;
  counted: Tokens;
}

export interface WrittenTurn {
  turn: TurnRow;
  writer: TurnWriter;
}

export interface MeteredCallsDeps {
  database: Database;
  stores: Pick<Stores, 'warnAboutBudget'>;
  plan: Plan;
  mode: Mode;
  price: () => ModelPrice;
}

/** Reserves and settles model calls as runtimes or the gateway do. */
export function createMeteredCalls({ database, stores, plan, mode, price }: MeteredCallsDeps) {
  const limits = createUsageLimits({
    database,
    plans: createPlans([plan]),
    clock: systemClock,
  });
  const gateway = createModelCallService({
    withTransaction: createWithTransaction(database),
    database,
    limits,
    models: { entry: () => undefined, price },
    transcriptionPrice: { modelId: null, prices: null },
    warnAboutBudget: stores.warnAboutBudget,
    metrics: { used: () => undefined },
  });

  const attemptOf = (turn: TurnRow, { step, estimate }: Pick<MeteredCall, 'step' | 'estimate'>): Attempt => ({
    usageTurnId: turn.usage_turn_id,
    userId: turn.user_id,
    workspaceId: turn.workspace_id,
    agentId: turn.agent_id,
    conversationId: turn.conversation_id,
    step,
    provider: 'p',
    model: 'm',
    promptTokens: estimate.prompt,
    maxOutputTokens: estimate.completion,
    ...price(),
  });

  return {
    limits,
    attemptOf,

    /** @throws ApiError `token_limit_reached` in the mode `gateway` */
    async reserve({ turn, writer }: WrittenTurn, call: MeteredCall): Promise<Reserved> {
      if (mode === 'runtime') return writer.reserve(attemptOf(turn, call), false);
      const reserved = await gateway.reserve({
        id: call.callId,
        workspace_id: turn.workspace_id,
        turn_id: turn.id,
        agent_id: turn.agent_id,
        purpose: 'turn',
        provider: 'p',
        model: 'm',
        requested_model: 'm',
        estimated_prompt_tokens: call.estimate.prompt,
        max_output_tokens: call.estimate.completion,
      });
      if (reserved === undefined) throw new Error('the workspace does not have the turn');
      return reserved === 'budget_reached' ? reserved : 'reserved';
    },

    /** @param counted nothing if the provider refused the call */
    async settle({ turn, writer }: WrittenTurn, call: MeteredCall, counted: Tokens, refused = false): Promise<void> {
      const { prompt, completion } = refused ? { prompt: 0, completion: 0 } : counted;
      if (mode === 'gateway') {
        const counts = { cached_tokens: 0, reasoning_tokens: 0, estimated: false };
        const outcome = refused ? 'refused' : 'completed';
        await gateway.settle(call.callId, { prompt_tokens: prompt, completion_tokens: completion, ...counts, outcome });
        return;
      }
      const { usageTurnId: turnId, ...attempt } = attemptOf(turn, call);
      const counts = { cachedTokens: 0, reasoningTokens: 0, estimated: false };
      writer.usage(
        { ...attempt, turnId, promptTokens: prompt, completionTokens: completion, ...counts },
        refused ? 'refused' : 'reserved',
        () => undefined,
      );
      await writer.flush();
    },
  };
}

/** The server counts this percentage of an estimate. */
export const countedOf = ({ prompt, completion }: Tokens, percent: number): Tokens => ({
  prompt: Math.floor((prompt * percent) / 100),
  completion: Math.floor((completion * percent) / 100),
});
