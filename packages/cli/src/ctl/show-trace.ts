import type { TraceStep, TurnTrace } from '@uswarm/contract';
import { block, plain, table } from './show.js';

/** Renders a turn's time line; times are seconds since the turn was queued. */
export function showTrace(trace: TurnTrace): string {
  const { turn_id, workspace_id, agent, status, error_code, delegated_by, created_at, started_at, finished_at } = trace;
  const head = block(turn_id, [
    ['workspace', workspace_id],
    ['agent', plain(agent)],
    ['status', error_code === null ? status : `${status} (${error_code})`],
    ...(delegated_by === null ? [] : [['task of', delegated_by] satisfies [string, string]]),
    ['queued', created_at],
    ['started', started_at === null ? 'not yet' : `after ${seconds(created_at, started_at)}`],
    ['ended', finished_at === null ? 'not yet' : `after ${seconds(created_at, finished_at)}`],
  ]);
  const rows = trace.steps.map((step) => row(step, created_at));
  const steps = rows.length === 0 ? 'No steps.' : table(['AT', 'TOOK', 'STEP', 'NAME', 'STATUS', 'TOKENS'], rows);
  return [head, '', steps, ...(trace.truncated ? ['More steps are not shown.'] : [])].join('\n');
}

const row = ({ type, name, status, started_at, finished_at, tokens, turn_id }: TraceStep, origin: string): string[] => [
  `+${seconds(origin, started_at)}`,
  finished_at === null ? '-' : seconds(started_at, finished_at),
  type,
  `${plain(name ?? '-')}${turn_id === null ? '' : ` (turn ${turn_id})`}`,
  status ?? '-',
  tokens === null ? '-' : tokens.toLocaleString('en'),
];

const seconds = (from: string, to: string): string => `${((Date.parse(to) - Date.parse(from)) / 1_000).toFixed(1)}s`;
