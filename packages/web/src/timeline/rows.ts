import type { components } from '@uswarm/client';

export type TurnSteps = components['schemas']['TurnSteps'];
export type TurnStep = components['schemas']['TurnStep'];
export type StepState = 'running' | 'waiting' | 'done' | 'failed' | 'unknown';

export interface TimelineRow {
  /** Unique within the time line. */
  key: string;
  step: TurnStep;
  /** Nesting level; 0 for the turn's own steps. */
  depth: number;
  state: StepState;
  /** Start and length are shares of the total time: 0 to 1. */
  from: number;
  length: number;
  /** Null for texts, which take no time, and for an unknown end. */
  durationMs: number | null;
}

export interface Timeline {
  rows: TimelineRow[];
  durationMs: number;
  tokens: number;
  /** In millionths of a US dollar; null if no model has a price. */
  costMicros: number | null;
}

const STATES: Readonly<Record<string, StepState>> = {
  running: 'running',
  waiting: 'waiting',
  open: 'waiting',
  failed: 'failed',
  denied: 'failed',
  expired: 'failed',
  superseded: 'failed',
  unknown: 'unknown',
};

/** Shows unknown states, from later releases, as done. */
export function stateOf(step: TurnStep): StepState {
  const details = step[step.type];
  return (details !== null && 'status' in details && STATES[details.status]) || 'done';
}

interface Placed {
  step: TurnStep;
  depth: number;
  turnId: string;
}

/** Puts a task's known steps behind the step that gave the task. */
function placed(
  turn: TurnSteps,
  tasks: ReadonlyMap<string, TurnSteps>,
  depth = 0,
  above: readonly string[] = [],
): Placed[] {
  const turnId = turn.turn_id;
  const calls = new Set(turn.steps.flatMap(({ tool_call: call }) => call?.call_id ?? []));
  const ownerOf = ({ approval, delegation }: TurnStep): string | undefined => {
    const owner = approval?.call_id ?? delegation?.call_id ?? undefined;
    return owner !== undefined && calls.has(owner) ? owner : undefined;
  };
  const withTask = (step: TurnStep, at: number): Placed[] => {
    const task = tasks.get(step.delegation?.turn_id ?? '');
    const isKnown = task !== undefined && ![...above, turnId].includes(task.turn_id);
    return [{ step, depth: at, turnId }, ...(isKnown ? placed(task, tasks, at + 1, [...above, turnId]) : [])];
  };
  return turn.steps
    .filter((step) => ownerOf(step) === undefined)
    .flatMap((step) => [
      ...withTask(step, depth),
      ...(step.tool_call === null
        ? []
        : turn.steps
            .filter((other) => ownerOf(other) === step.tool_call?.call_id)
            .flatMap((other) => withTask(other, depth + 1))),
    ]);
}

/**
 * Pure.
 *
 * @param tasks the turns behind expanded tasks, by id
 * @param now ms since 1970, used if a step has no end
 */
export function timelineOf(turn: TurnSteps, tasks: ReadonlyMap<string, TurnSteps>, now: number): Timeline {
  const steps = placed(turn, tasks);
  const begin = Math.min(
    Date.parse(turn.started_at ?? turn.created_at),
    ...steps.map(({ step }) => Date.parse(step.started_at)),
  );
  const ends = steps.map(({ step }) => Date.parse(step.finished_at ?? step.started_at));
  const end = turn.finished_at === null ? Math.max(now, begin) : Math.max(Date.parse(turn.finished_at), begin, ...ends);
  const whole = Math.max(end - begin, 1);
  const rows = steps.map(({ step, depth, turnId }): TimelineRow => {
    const state = stateOf(step);
    const from = Date.parse(step.started_at);
    const isOpen = step.finished_at === null && (state === 'running' || state === 'waiting');
    const until = step.finished_at === null ? (isOpen ? end : from) : Date.parse(step.finished_at);
    const isTimed = step.type !== 'text' && (step.finished_at !== null || isOpen);
    return {
      key: `${turnId}/${step.id}`,
      step,
      depth,
      state,
      from: (from - begin) / whole,
      length: Math.max(until - from, 0) / whole,
      durationMs: isTimed ? Math.max(until - from, 0) : null,
    };
  });
  return { rows, durationMs: end - begin, ...usageOf(steps.map(({ step }) => step)) };
}

function usageOf(steps: readonly TurnStep[]): Pick<Timeline, 'tokens' | 'costMicros'> {
  const calls = steps.flatMap(({ model_call: call }) => call ?? []);
  const costs = calls.flatMap(({ cost_micros: cost }) => cost ?? []);
  return {
    tokens: calls.reduce((sum, call) => sum + call.prompt_tokens + call.completion_tokens, 0),
    costMicros: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
  };
}
