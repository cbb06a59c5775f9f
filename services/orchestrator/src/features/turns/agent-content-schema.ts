import { MessageContent } from '@uswarm/contract';

/** Content that an agent may send in a separate message, besides its reply. */
export type OfferedContent = Extract<MessageContent, { type: 'action_card' | 'artifact' | 'workflow' }>;

const MAX_BYTES = 64 * 1024;

/** Untrusted text as Postgres can store it: neither NUL nor half a character. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, storableJson(entry)]));
}

/** Validates content of a runtime, which is as untrusted as its model. Undefined if it cannot be shown. */
export function offeredContent(value: unknown): OfferedContent | undefined {
  const { data } = MessageContent.safeParse(storableJson(value));
  if (data === undefined || Buffer.byteLength(JSON.stringify(data)) > MAX_BYTES) return undefined;
  switch (data.type) {
    case 'artifact':
    case 'workflow':
      return data;
    case 'action_card': {
      const ids = new Set(data.actions.map(({ id }) => id));
      // The choice is the user's.
      return ids.size > 0 && ids.size === data.actions.length ? { ...data, selected_action_id: null } : undefined;
    }
    default:
      return undefined;
  }
}
