import { type RawBuilder, sql } from 'kysely';

export interface BudgetRow {
  id: string;
  /** Tokens; null without a limit. */
  budget: number | null;
  /** Includes the turns that it continues, and its tasks. */
  used: number;
  /** Part of `used`: other running turns' model calls have reserved it and can still give it back. */
  unsettled: number;
}

/** Includes the turns that it continues, and its tasks. */
export interface TurnTokens {
  used: number;
  /** Null: the turn has no budget. */
  budget: number | null;
  /**
   * `reserved`: a budget that limits the turn has nothing left, but other turns' running model calls can give tokens
   * back; `none`: it is spent
   */
  left: 'some' | 'reserved' | 'none';
}

const NO_TOKENS: TurnTokens = { used: 0, budget: null, left: 'some' };

/** @param budgets also for turns whose task it works on. Pure. */
export function turnTokensOf(turnId: string, budgets: readonly BudgetRow[]): TurnTokens {
  const own = budgets.find(({ id }) => id === turnId);
  if (own === undefined) return NO_TOKENS;
  const { used, budget } = own;
  // Without a budget, the turn's runtime cannot be told that it is spent.
  if (budget === null) return { used, budget, left: 'some' };
  const missing = budgets.filter((one) => one.budget !== null && one.used >= one.budget);
  if (missing.length === 0) return { used, budget, left: 'some' };
  const returns = missing.every((one) => one.used - one.unsettled < (one.budget ?? Infinity));
  return { used, budget, left: returns ? 'reserved' : 'none' };
}

/** The turn and the turns whose tasks it works on. Tasks nest twice: `LIMITS.delegationDepth`. */
const limiting = (turnId: string) => sql`
  SELECT ${turnId}::uuid AS id
  UNION ALL
  SELECT d.parent_turn_id FROM delegations d WHERE d.turn_id = ${turnId}
  UNION ALL
  SELECT above.parent_turn_id FROM delegations d JOIN delegations above ON above.turn_id = d.parent_turn_id
  WHERE d.turn_id = ${turnId}`;

/** The turn and its unfinished tasks. */
const allotting = (turnId: string) => sql`
  SELECT ${turnId}::uuid AS id
  UNION ALL
  SELECT d.turn_id FROM delegations d WHERE d.parent_turn_id = ${turnId} AND d.status = 'running'`;

/**
 * Common table expressions: `budgets` has a `BudgetRow` per budget holder. A task counts against its own budget and
 * against each budget above it. Not recursive: the planner overestimates a recursive query's rows so much
 * that it reads whole tables, and compiles it.
 */
const budgetsOf = (turnId: string, holders: RawBuilder<unknown>) => sql`
  holders AS (${holders}),
  counted AS (
    SELECT h.id AS holder, h.id FROM holders h
    UNION ALL
    SELECT h.id, d.turn_id FROM holders h JOIN delegations d ON d.parent_turn_id = h.id
    UNION ALL
    SELECT h.id, below.turn_id FROM holders h JOIN delegations d ON d.parent_turn_id = h.id
      JOIN delegations below ON below.parent_turn_id = d.turn_id
  ), budgets AS (
    SELECT counted.holder AS id,
      (SELECT tokens_budget FROM turns WHERE id = counted.holder) AS budget,
      coalesce(sum(calls.tokens), 0)::bigint AS used,
      coalesce(sum(calls.unsettled), 0)::bigint AS unsettled
    FROM counted CROSS JOIN LATERAL (
      SELECT sum(e.prompt_tokens + e.completion_tokens) AS tokens,
        sum(e.prompt_tokens + e.completion_tokens)
          FILTER (WHERE e.reserved AND t.status = 'running' AND t.id <> ${turnId}) AS unsettled
      FROM turns t JOIN usage_entries e ON e.turn_id = coalesce(t.first_turn_id, t.id) AND e.kind = 'step'
      WHERE t.id = counted.id
    ) calls
    GROUP BY counted.holder
  )`;

export const limitingBudgets = (turnId: string) => budgetsOf(turnId, limiting(turnId));

/** The turn's budget and its unfinished tasks' budgets. */
export const allottedBudgets = (turnId: string) => budgetsOf(turnId, allotting(turnId));
