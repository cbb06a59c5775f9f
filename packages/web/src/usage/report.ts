import type { Client, components } from '@uswarm/client';
import { type Amount, daysOf } from './amounts.js';

type Report = components['schemas']['UsageReport'];
export type Group = components['schemas']['UsageGroup'];

export const GROUPS = [
  { value: 'agent', label: 'Agent' },
  { value: 'conversation', label: 'Conversation' },
  { value: 'model', label: 'Model' },
  { value: 'day', label: 'Day' },
] as const;
/** 100 rows each. A month has few agents, models and days, but can have many conversations. */
const MOST_PAGES = 10;
export type By = (typeof GROUPS)[number]['value'];
export const nameOfMonth = (month: string): string =>
  new Date(`${month}-01T00:00Z`).toLocaleDateString(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });

export const resetOf = (at: string): string =>
  `The limits start again on ${new Date(at).toLocaleDateString(undefined, { dateStyle: 'long', timeZone: 'UTC' })}.`;

export const nameOf = (by: By, { key, name }: Group): string => {
  if (by === 'day') return new Date(key).toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
  return name ?? (by === 'model' ? key : `Deleted ${by}`);
};

/** All rows of a monthly report, and the plan's limit. */
export async function loadUsage(
  { api }: Client,
  { workspaceId, month, by }: { workspaceId: string; month: string; by: By },
  signal: AbortSignal,
) {
  const path = { id: workspaceId };
  const { data: plan } = await api.get('/v1/workspaces/{id}/usage', { path, signal });
  let report: Report | undefined;
  for (let scrollId: string | undefined, pages = 0; pages < MOST_PAGES; pages += 1) {
    const query = { group_by: by, ...daysOf(month), limit: 100, ...(scrollId !== undefined && { scrollId }) };
    const page = await api.get('/v1/workspaces/{id}/usage/report', { path, query, signal });
    report = { ...page.data, groups: [...(report?.groups ?? []), ...page.data.groups] };
    scrollId = page.pagination.next_scroll_id ?? undefined;
    if (scrollId === undefined) break;
  }
  if (report === undefined) throw new Error('The report is empty.');
  return { report, plan };
}

export interface Rows {
  by: By;
  groups: readonly Group[];
  total: Amount;
  currency: string;
}
