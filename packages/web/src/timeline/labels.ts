import type { StepState, TurnStep, TurnSteps } from './rows.js';

/** “$0.0123”, and “less than $0.0001”. */
export function costText(micros: number): string {
  if (micros === 0) return '$0';
  return micros < 100 ? 'less than $0.0001' : `$${(micros / 1_000_000).toFixed(4)}`;
}

export const tokensText = (tokens: number): string => `${tokens.toLocaleString('en')} tokens`;

const PURPOSES: Readonly<Record<string, string>> = {
  step: 'Thinking',
  summary: 'Shortening the conversation',
  title: 'Naming the conversation',
};
const APPROVALS: Readonly<Record<string, string>> = {
  open: 'Waits for your decision',
  approved: 'You approved',
  denied: 'You denied',
  expired: 'Nobody decided',
  superseded: 'Withdrawn before a decision',
};

interface Label {
  title: string;
  /** One line below it. */
  note?: string;
}

export function labelOf(step: TurnStep): Label {
  const { model_call: model, text, tool_call: call, approval, delegation } = step;
  if (model !== null) return { title: PURPOSES[model.purpose] ?? model.purpose, note: model.model };
  if (text !== null) return { title: text.text };
  if (call !== null) return { title: call.tool };
  if (approval !== null)
    return { title: APPROVALS[approval.status] ?? approval.status, ...tokensAsked(approval.tokens) };
  if (delegation !== null) return { title: delegation.agent.name, note: delegation.task };
  return { title: step.type };
}

const tokensAsked = (tokens: number | null): { note?: string } =>
  tokens === null ? {} : { note: `for ${tokensText(tokens)} more` };

const STATES: Readonly<Record<StepState, string>> = {
  running: 'running',
  waiting: 'waiting',
  done: 'done',
  failed: 'failed',
  unknown: 'outcome unknown',
};
export const stateText = (state: StepState): string => STATES[state];

const TURNS: Readonly<Record<string, { text: string; tone: 'plain' | 'accent' | 'attention' | 'ok' | 'bad' }>> = {
  queued: { text: 'Queued', tone: 'plain' },
  running: { text: 'Running', tone: 'accent' },
  waiting: { text: 'Waiting', tone: 'attention' },
  completed: { text: 'Completed', tone: 'ok' },
  failed: { text: 'Failed', tone: 'bad' },
  stopped: { text: 'Stopped', tone: 'plain' },
};
export const turnState = ({ status }: TurnSteps) => TURNS[status] ?? { text: status, tone: 'plain' as const };
