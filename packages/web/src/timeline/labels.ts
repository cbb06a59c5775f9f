import type { IconName } from '../ui/icons.js';
import type { Tone } from '../ui/tone.js';
import type { StepState, TimelineRow, TurnStep, TurnSteps } from './rows.js';

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
  /** Shown on a line below. */
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

/** A step's known facts, with names. */
export function factsOf(step: TurnStep): [name: string, value: string][] {
  const { model_call: model, tool_call: call, approval } = step;
  const facts: [name: string, value: string][] = [];
  if (model !== null) {
    facts.push(['Model', `${model.model} (${model.provider})`]);
    facts.push([
      'Read',
      `${tokensText(model.prompt_tokens)}, ${model.cached_tokens.toLocaleString('en')} of them cached`,
    ]);
    facts.push(['Wrote', tokensText(model.completion_tokens)]);
    if (model.cost_micros !== null) facts.push(['Cost', costText(model.cost_micros)]);
    if (model.estimated) facts.push(['Note', 'The tokens are an estimate.']);
  }
  if (call?.receipt_id) facts.push(['Receipt', call.receipt_id]);
  if (approval !== null) facts.push(['Could be decided until', new Date(approval.expires_at).toLocaleString()]);
  facts.push(['Began', new Date(step.started_at).toLocaleTimeString()]);
  return facts;
}

const ICONS: Readonly<Record<string, IconName>> = {
  model_call: 'swarm',
  text: 'chat',
  tool_call: 'tool',
  approval: 'user',
  delegation: 'agents',
};
export const iconOf = ({ type }: TurnStep): IconName => ICONS[type] ?? 'clock';

const TYPE_TONES: Readonly<Record<string, Tone>> = { text: 'plain', tool_call: 'ok', approval: 'attention' };
const STATE_TONES: Readonly<Record<string, Tone>> = { failed: 'bad', waiting: 'attention', running: 'accent' };
/** The bar's tone follows the state, or else the step type. */
export const toneOf = ({ step, state }: TimelineRow): Tone => STATE_TONES[state] ?? TYPE_TONES[step.type] ?? 'accent';
