import { MessageContent } from '@uswarm/contract';
import { storable } from '@uswarm/service-kit';
import { oneLine } from '../../records/one-line.js';
import { visibleText } from '../../records/visible-text.js';

/** Sent in addition to the reply. */
export type OfferedContent = Extract<MessageContent, { type: 'action_card' | 'artifact' | 'workflow' }>;

const MAX_BYTES = 64 * 1024;

/** Applies `storable` to all strings. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, storableJson(entry)]));
}

/** A choice becomes a user message, so the user must see its whole label. */
function offeredCard(card: OfferedContent & { type: 'action_card' }): OfferedContent | undefined {
  const actions = card.actions.map((action) => ({ ...action, label: oneLine(action.label) }));
  const ids = new Set(actions.map(({ id }) => id));
  if (ids.size === 0 || ids.size < actions.length || actions.some(({ label }) => label === '')) return undefined;
  const [title, description] = [visibleText(card.title), visibleText(card.description)];
  // Only the user selects an action, and only the orchestrator asks for approvals.
  return { type: 'action_card', title, description, actions, selected_action_id: null };
}

/**
 * Validates a runtime's untrusted content. Artifacts are not accepted: only the orchestrator knows them.
 *
 * @returns undefined if clients cannot display it
 */
export function offeredContent(value: unknown): OfferedContent | undefined {
  const { data } = MessageContent.safeParse(storableJson(value));
  if (data === undefined || Buffer.byteLength(JSON.stringify(data)) > MAX_BYTES) return undefined;
  switch (data.type) {
    case 'workflow':
      return data;
    case 'action_card':
      return offeredCard(data);
    default:
      return undefined;
  }
}
