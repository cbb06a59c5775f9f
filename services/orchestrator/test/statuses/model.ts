import type { AgentActivity } from '../../src/platform/database/schema.js';

/** The documented durations, in minutes. */
const ACTIVITY_MIN = 2;
const ERROR_MIN = 5;
const QUESTION_MIN = 24 * 60;

/** A turn as the user sees it. */
export interface ModelTurn {
  state: 'running' | 'suspended' | 'done' | 'failed' | 'stopped';
  /** The activity of a running turn; undefined if it waits. */
  activity: AgentActivity | undefined;
  /** Minute at which the activity was stored, or at which the turn ended or was suspended. */
  since: number;
  /** Orders turns by their end. */
  endedAs: number;
  /** True if it shows a card without a choice that no turn waits for. */
  asks: boolean;
}

/** Statuses from the most active one. */
const ORDER: readonly AgentActivity[] = ['writing', 'thinking', 'reading', 'pending', 'error', 'online'];

const ended = (turns: readonly ModelTurn[]): ModelTurn | undefined =>
  turns.filter(({ state }) => state !== 'running').toSorted((a, b) => b.endedAs - a.endedAs)[0];

/** Derives what an agent does from its turns by conversation, each in their order. */
export function statusOf(conversations: readonly (readonly ModelTurn[])[], now: number): AgentActivity {
  const turns = conversations.flat();
  const found: AgentActivity[] = ['online'];
  for (const { state, activity, since } of turns) {
    if (state === 'running') found.push(activity !== undefined && now < since + ACTIVITY_MIN ? activity : 'pending');
    if (state === 'suspended') found.push('pending');
  }
  for (const conversation of conversations) {
    const last = ended(conversation);
    const answers = last?.state === 'done' || last?.state === 'suspended';
    if (last?.asks === true && answers && now < last.since + QUESTION_MIN) found.push('pending');
  }
  const last = ended(turns);
  if (last?.state === 'failed' && now < last.since + ERROR_MIN) found.push('error');
  return ORDER.find((status) => found.includes(status)) ?? 'online';
}
