import type { components } from '@uswarm/client';
import type { Tone } from '../ui/tone.js';

export type Amount = components['schemas']['UsageAmount'];
type Budget = components['schemas']['WorkspaceBudget'];

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
export const tokens = (count: number): string => compact.format(count);
export const tokensOf = ({ prompt_tokens, completion_tokens }: Amount): number => prompt_tokens + completion_tokens;

/** Small amounts need more digits, or a working swarm looks free. */
export function money(micros: number, currency: string): string {
  const amount = micros / 1_000_000;
  const digits = amount === 0 || amount >= 1 ? 2 : amount >= 0.01 ? 3 : 4;
  const least = 10 ** -digits;
  const options = {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  } as const;
  const format = new Intl.NumberFormat(undefined, options);
  return amount > 0 && amount < least ? `< ${format.format(least)}` : format.format(amount);
}

/** Calls without a price make the cost a lower bound. Undefined if no call has one. */
export function costOf({ cost_micros: micros, unpriced_tokens: unpriced }: Amount, currency: string) {
  if (micros === null) return undefined;
  return { text: `${unpriced > 0 ? '≥ ' : ''}${money(micros, currency)}`, isWhole: unpriced === 0 };
}

export interface Meter {
  label: string;
  used: number;
  limit: number;
  text: string;
  /** The unused part, or the excess: calls that had begun are finished. */
  left: string;
  state: keyof typeof STATES;
  /** Before the text: that little or nothing is left. */
  note: string;
  tone: Tone;
}
const STATES = {
  within: { note: '', tone: 'accent' },
  near: { note: 'Nearly used · ', tone: 'attention' },
  over: { note: 'Used up · ', tone: 'bad' },
} as const;
function meter(label: string, used: number, limit: number, show: (value: number) => string): Meter {
  // The platform warns at the same share of a budget.
  const state = used >= limit ? 'over' : 5 * used >= 4 * limit ? 'near' : 'within';
  const unit = show === tokens ? ' tokens' : '';
  const left = `${show(Math.abs(limit - used))}${unit} ${used > limit ? 'over' : 'left'}`;
  return { label, used, limit, state, ...STATES[state], text: `${show(used)} of ${show(limit)}${unit}`, left };
}

/** Each limit that applies to a workspace, and how much is used. */
export function metersOf(budget: Budget | undefined, plan: { tokens_used: number; token_limit: number } | undefined) {
  const { monthly_cost_micros: cost = null, monthly_tokens: limit = null } = budget ?? {};
  const price = (micros: number): string => money(micros, budget?.currency ?? 'USD');
  return [
    ...(budget && cost !== null ? [meter('Budget', budget.cost_micros_used, cost, price)] : []),
    ...(budget && limit !== null ? [meter('Token budget', budget.tokens_used, limit, tokens)] : []),
    ...(plan && plan.token_limit > 0 ? [meter('Plan', plan.tokens_used, plan.token_limit, tokens)] : []),
  ];
}

/** The limits in a form. An empty field means no limit. */
export function budgetOf(form: FormData) {
  const limit = (name: string, factor: number): number | null => {
    const text = String(form.get(name) ?? '').trim();
    return text === '' ? null : Math.round(Number(text) * factor);
  };
  return { monthly_cost_micros: limit('cost', 1_000_000), monthly_tokens: limit('tokens', 1) };
}

/** First and last day of a month (`2026-11`), as the report takes them. */
export function daysOf(month: string): { from: string; to: string } {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) };
}
export function monthsUntil(now: Date, count: number): string[] {
  return Array.from({ length: count }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}
