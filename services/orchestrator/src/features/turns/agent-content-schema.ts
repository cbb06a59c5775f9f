import { MessageContent } from '@uswarm/contract';
import { NUL } from '@uswarm/service-kit';

/** Content of messages that a turn sends in addition to its reply. */
export type OfferedContent = Extract<MessageContent, { type: 'action_card' | 'artifact' | 'workflow' }>;

const MAX_BYTES = 64 * 1024;

/** Removes NUL and lone surrogates from untrusted text, because Postgres cannot store them. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll(NUL, '');
}

/** The same for all strings of a value. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, storableJson(entry)]));
}

/**
 * Validates the untrusted content of a runtime. Artifacts are not accepted: only the orchestrator knows them.
 *
 * @returns undefined if clients cannot display it
 */
export function offeredContent(value: unknown): OfferedContent | undefined {
  const { data } = MessageContent.safeParse(storableJson(value));
  if (data === undefined || Buffer.byteLength(JSON.stringify(data)) > MAX_BYTES) return undefined;
  switch (data.type) {
    case 'workflow':
      return data;
    case 'action_card': {
      const ids = new Set(data.actions.map(({ id }) => id));
      // Only the user selects an action.
      return ids.size > 0 && ids.size === data.actions.length ? { ...data, selected_action_id: null } : undefined;
    }
    default:
      return undefined;
  }
}
