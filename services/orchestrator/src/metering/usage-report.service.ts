import { ApiError, type UsageGroup, type UsageGrouping, type UsageReportPage } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { ListCursorCodec } from '../records/list-cursor.js';
import { CURRENCY } from './budget.js';
import type { BudgetService } from './budget.service.js';
import { type TurnTotalRow, type UsageGroupRow, sumUsage, groupUsage, sumUsageOfTurns } from './usage-report.store.js';
import type { Database } from '../platform/database/database.js';

export interface UsageReportQuery {
  group_by: UsageGrouping;
  /** First day in UTC. Default: the first day in the month of `to`. */
  from?: string | undefined;
  /** Last day in UTC. Default: today. */
  to?: string | undefined;
  scrollId?: string | undefined;
  limit: number;
}

export interface UsageReportDeps {
  database: Database;
  budgets: Pick<BudgetService, 'get'>;
  cursors: ListCursorCodec;
  clock: Clock;
}

export interface UsageReportService {
  /** @throws ApiError `workspace_not_found`, `validation_failed`, `cursor_invalid` */
  report(userId: string, workspaceId: string, query: UsageReportQuery): Promise<UsageReportPage>;
}

const DAY_MS = 24 * 60 * 60_000;
const MAX_DAYS = 366;

/** @throws ApiError `validation_failed` */
function rangeOf({ from, to }: Pick<UsageReportQuery, 'from' | 'to'>, now: Date): { first: string; last: string } {
  const last = to ?? now.toISOString().slice(0, 10);
  const first = from ?? `${last.slice(0, 7)}-01`;
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days >= 1 && days <= MAX_DAYS) return { first, last };
  const message = days < 1 ? 'must not be after to' : `must be at most ${MAX_DAYS} days before to`;
  throw new ApiError('validation_failed', { extra: { fields: [{ path: 'from', message }] } });
}

function groupView({ key, name, agent_id, conversation_id, ...usage }: UsageGroupRow, of?: TurnTotalRow): UsageGroup {
  if (of === undefined) return { key, name, usage, turn: null };
  const { key: _, delegated_by, ...total } = of;
  return { key, name, usage, turn: { agent_id, conversation_id, delegated_by, total } };
}

export function createUsageReportService({ database, budgets, cursors, clock }: UsageReportDeps): UsageReportService {
  return {
    async report(userId, workspaceId, { group_by: by, from, to, scrollId, limit }) {
      const { first, last } = rangeOf({ from, to }, clock.now());
      const scope = [userId, workspaceId, by, first, last];
      const position = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const budget = await budgets.get(userId, workspaceId);
      const range = { workspaceId, from: new Date(first), until: new Date(Date.parse(last) + DAY_MS) };
      const [total, rows] = await Promise.all([
        sumUsage(database, range),
        groupUsage(database, range, by, { after: position?.key, limit: limit + 1 }),
      ]);
      const page = rows.slice(0, limit);
      const turns =
        by === 'turn'
          ? await sumUsageOfTurns(
              database,
              range,
              page.map(({ key }) => key),
            )
          : [];
      const totals = new Map(turns.map((turn) => [turn.key, turn]));
      const end = page.at(-1);
      // Groups are ordered by their key only.
      const next =
        end === undefined || rows.length === page.length
          ? null
          : cursors.encode({ time: range.from.toISOString(), key: end.key }, scope);
      return {
        data: {
          from: first,
          to: last,
          currency: CURRENCY,
          total,
          budget,
          groups: page.map((row) => groupView(row, totals.get(row.key))),
        },
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },
  };
}
