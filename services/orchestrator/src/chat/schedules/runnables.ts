import { ApiError, LIMITS, type SchedulePage } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';
import { fitting, jsonBytes } from '../../platform/http/bounded-list.js';
import { requiredLine } from '../../platform/http/visible-text.js';
import { listMembers } from '../../records/agents.store.js';
import type { ListCursorCodec, ListPosition } from '../../records/list-cursor.js';
import { findLastRuns, type ListedRow, type RunnableRow, type ScheduleRunRow } from '../../records/schedule-rows.js';
import { titleOf } from '../../records/title.js';

/** Rules that schedules and triggers have in common. */

/** @param agentId default: the manager @throws ApiError `agent_not_found` */
export async function checkedAgent(
  database: Database,
  workspaceId: string,
  agentId: string | null | undefined,
): Promise<string> {
  const members = await listMembers(database, workspaceId);
  const agent = members.find(({ id, kind }) => (typeof agentId === 'string' ? id === agentId : kind === 'manager'));
  if (agent === undefined) throw new ApiError('agent_not_found');
  return agent.id;
}

/** @throws ApiError `validation_failed` */
export const checkedTitle = (title: string | undefined, prompt: string): string =>
  requiredLine('title', title ?? titleOf(prompt) ?? prompt).slice(0, LIMITS.scheduleTitle);

export interface PageQuery {
  scrollId?: string | undefined;
  limit?: number | undefined;
}

interface ListedPage<Row extends RunnableRow, View> {
  database: Database;
  cursors: ListCursorCodec;
  /** Binds cursors. */
  scope: readonly string[];
  readRows(range: { limit: number; after: ListPosition | undefined }): Promise<ListedRow<Row>[]>;
  view(row: Row, lastRun: ScheduleRunRow | undefined): View;
}

/** Newest first, bounded by the response size. @throws ApiError `cursor_invalid` */
export async function pageOf<Row extends RunnableRow, View>(
  { database, cursors, scope, readRows, view }: ListedPage<Row, View>,
  { scrollId, limit = LIMITS.pageDefault }: PageQuery,
): Promise<{ data: View[]; pagination: SchedulePage['pagination'] }> {
  const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
  const rows = await readRows({ limit: limit + 1, after });
  const lastRuns = await findLastRuns(
    database,
    rows.map(({ id }) => id),
  );
  const views = rows.map((row) => ({ view: view(row, lastRuns.get(row.id)), position: row.position }));
  const page = fitting(views.slice(0, limit), (one) => jsonBytes(one.view));
  const last = page.at(-1);
  const next = last === undefined || page.length === rows.length ? null : cursors.encode(last.position, scope);
  return {
    data: page.map((one) => one.view),
    pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
  };
}
