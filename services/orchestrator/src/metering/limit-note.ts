import type { Transaction } from '../platform/database/database.js';
import type { EventLog } from '../records/event-log.js';
import { insertSystemMessage, type SystemMessage } from '../records/system-message.js';
import type * as messageRecords from '../records/messages.store.js';
import { costText } from './budget.js';
import type { LimitReached } from './usage-limits.js';

type LimitPlace = Pick<SystemMessage, 'workspaceId' | 'conversationId' | 'turn'>;

export interface LimitNoteDeps {
  events: Pick<EventLog, 'addMessage' | 'lock'>;
  hasSystemMessage: typeof messageRecords.hasSystemMessage;
}

function reachedLimit(limit: LimitReached): string {
  if (limit.scope === 'user') return 'The token limit of your plan';
  if (limit.scope === 'workspace') return 'The token limit of this workspace';
  const amount =
    'token_limit' in limit ? `${limit.token_limit.toLocaleString('en-US')} tokens` : costText(limit.cost_limit_micros);
  return `The budget of this workspace (${amount})`;
}

export const limitNote = (limit: LimitReached): string =>
  `${reachedLimit(limit)} for this month is reached. It resets on ${limit.resets_at.slice(0, 10)} (UTC).`;

/**
 * Shows in the conversation that a limit is reached, once per month: the tasks of an answer reach it together. Locks the workspace.
 */
export async function noteLimit(
  { events, hasSystemMessage }: LimitNoteDeps,
  { limit, ...place }: LimitPlace & { limit: LimitReached },
  tx: Transaction,
): Promise<void> {
  await events.lock(place.workspaceId, tx);
  // The text names the limit and the day on which it resets.
  const text = limitNote(limit);
  if (await hasSystemMessage(tx, place.conversationId, text)) return;
  await insertSystemMessage({ events }, { ...place, text }, tx);
}
