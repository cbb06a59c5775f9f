import { ApiError, type TraceStep, type TurnStep, type TurnTrace } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import type { StepService } from '../../turns/steps/steps.service.js';
import { findTracedTurn } from './admin.store.js';

/** A turn with more steps is stopped by its limits long before. */
const STEPS = 1_000;
const PAGE = 100;

export interface TurnTraceDeps {
  database: Database;
  steps: Pick<StepService, 'list'>;
}

export type TraceTurn = (actor: string, id: string) => Promise<TurnTrace>;

/** Shows when a turn did what, and leaves out what users, agents and tools wrote: operators need no content for it. */
export function createTurnTrace({ database, steps }: TurnTraceDeps): TraceTurn {
  return async (actor, id) => {
    const found = await findTracedTurn(database, id);
    if (found === undefined) throw new ApiError('turn_not_found');
    const { id: turnId, conversation_id: conversationId, owner_id: owner, workspace_id } = found;
    await appendAudit(database, { actor, action: 'turns.trace', userId: owner, subjectId: turnId });
    const collected: TraceStep[] = [];
    for (let scrollId: string | undefined; ;) {
      const query = { scrollId, limit: PAGE };
      const { data, pagination } = await steps.list(owner, { conversationId, turnId }, query);
      const { agent, error, task: _task, steps: page, ...turn } = data;
      collected.push(...page.map(traceStep));
      const { next_scroll_id: next } = pagination;
      if (next === null || collected.length >= STEPS) {
        const truncated = next !== null;
        return {
          ...turn,
          workspace_id,
          agent: agent.slug,
          error_code: error?.code ?? null,
          steps: collected,
          truncated,
        };
      }
      scrollId = next;
    }
  };
}

function traceStep({ type, started_at, finished_at, ...details }: TurnStep): TraceStep {
  const { model_call: call, tool_call: tool, approval, delegation } = details;
  return {
    type,
    started_at,
    finished_at,
    name: call?.model ?? tool?.tool ?? delegation?.agent.slug ?? null,
    status: (call ?? tool ?? approval ?? delegation)?.status ?? null,
    tokens: call === null ? null : call.prompt_tokens + call.completion_tokens,
    cost_micros: call?.cost_micros ?? null,
    turn_id: delegation?.turn_id ?? null,
  };
}
