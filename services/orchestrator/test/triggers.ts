import type { Trigger, TriggerRun, TriggerWithUrl } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import type { Home, TestUser } from './test-orchestrator.js';

export const ISSUES = { title: 'New issues', prompt: 'Name duplicates of this issue.' };

export const triggersOf = (home: Pick<Home, 'workspace'>): string => `${home.workspace}/triggers`;

export async function createTrigger(
  user: TestUser,
  home: Pick<Home, 'workspace'>,
  body: Record<string, unknown> = {},
): Promise<TriggerWithUrl> {
  return (await user.post<{ data: TriggerWithUrl }>(triggersOf(home), { ...ISSUES, ...body }, 201)).body.data;
}

export interface HookAnswer {
  status: number;
  retryAfter: string | undefined;
  body: { run_id?: string; code?: string };
}

/** Sends a request as another system does. @param url as a trigger has it */
export async function callHook(
  origin: string,
  url: string,
  body: string | Buffer = '',
  headers: Record<string, string> = {},
): Promise<HookAnswer> {
  const response = await request(`${origin}${url.replace(/^https?:\/\/[^/]+/, '')}`, { method: 'POST', headers, body });
  const { 'retry-after': retryAfter } = response.headers;
  return {
    status: response.statusCode,
    retryAfter: [retryAfter].flat()[0],
    body: (await response.body.json()) as HookAnswer['body'],
  };
}

/** A trigger's API, and its runs, newest first. */
export function watchTrigger(user: TestUser, home: Pick<Home, 'workspace'>, id: string) {
  const path = `${triggersOf(home)}/${id}`;
  const read = async () => (await user.get<{ data: Trigger }>(path)).body.data;
  const runs = async () => (await user.get<{ data: TriggerRun[] }>(`${path}/runs`)).body.data;
  const untilRuns = (isReached: (all: TriggerRun[]) => boolean) =>
    eventually(runs, { until: isReached, timeoutMs: 30_000 });
  return {
    path,
    read,
    runs,
    untilRuns,
    /** Waits until the run's message and turn are stored. */
    untilStarted: (runId: string | undefined) =>
      untilRuns((all) => all.some(({ id: one, status }) => one === runId && status !== 'queued')),
  };
}
