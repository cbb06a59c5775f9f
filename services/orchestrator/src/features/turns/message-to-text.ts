import type { MessageContent } from '@uswarm/contract';
import type { StoredAttachment } from '../uploads/attachments.js';

/** The parts of a message that a model gets. */
export interface Said {
  content: MessageContent;
  attachments: readonly Pick<StoredAttachment, 'name' | 'mime_type' | 'size'>[];
}

/** A message as text: what was attached is named, a card is read out. Pure. */
export function messageToText({ content, attachments }: Said): string {
  const files = attachments.map(({ name, mime_type, size }) => `[attached: ${name}, ${mime_type}, ${size} bytes]`);
  return [...spoken(content), ...files].join('\n');
}

function spoken(content: MessageContent): string[] {
  if (content.type === 'text') return content.text === '' ? [] : [content.text];
  if (content.type !== 'action_card') return [];
  const options = content.actions.map(({ label }) => `- ${label}`);
  return [content.title, content.description, ...options].filter((line) => line !== '');
}
