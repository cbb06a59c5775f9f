import type { MessageData } from '@uswarm/client';
import type { Tone } from '../ui/tone.js';
import type { TaskState } from './tree.js';

export interface Activity {
  text: string | undefined;
  /** When the agent last wrote something. */
  at: string | undefined;
}
interface LiveAgent {
  id: string;
  live: string;
  tool?: { tool: string; query?: string | undefined } | undefined;
}
const WORDS: Readonly<Record<string, string>> = {
  reading: 'Reads',
  thinking: 'Thinks',
  writing: 'Writes',
  pending: 'Waits for others',
  error: 'Has a problem',
};

/** Each agent's current activity. An empty text means that the last status has expired. */
export function activityOf(
  agents: readonly LiveAgent[],
  messages: readonly { message: Pick<MessageData, 'agent' | 'updated_at'> | null }[],
): Map<string, Activity> {
  return new Map(
    agents.map(({ id, live, tool }) => {
      const query = tool?.query === undefined || tool.query === '' ? '' : `: ${tool.query}`;
      const text = tool === undefined ? WORDS[live] : `Uses ${tool.tool.replaceAll('_', ' ')}${query}`;
      const at = messages.findLast(({ message }) => message?.agent?.id === id)?.message?.updated_at;
      return [id, { text, at }];
    }),
  );
}

export const LABELS: Record<TaskState, [string, Tone]> = {
  running: ['Working', 'accent'],
  waiting: ['Waiting', 'plain'],
  pending: ['Not started', 'plain'],
  completed: ['Done', 'ok'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'plain'],
};

export function summaryOf(running: number, isActive: boolean, runtime: string | undefined): string {
  if (!isActive) return 'All agents are idle.';
  if (runtime === 'offline') return 'The swarm wakes up. This takes some seconds.';
  if (runtime === 'provisioning') return 'The swarm is being set up.';
  if (running === 0) return 'The swarm waits.';
  return running === 1 ? '1 agent works.' : `${running} agents work.`;
}
