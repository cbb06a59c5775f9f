import type { MessageContent } from '@uswarm/contract';
import type { StoredAttachment } from '../../workspaces/uploads/attachments.js';

export interface MessageParts {
  content: MessageContent;
  attachments: readonly Pick<StoredAttachment, 'name' | 'mime_type' | 'size'>[];
}

/** Includes attachment and artifact names, and card options. Pure. */
export function messageToText({ content, attachments }: MessageParts): string {
  const files = attachments.map(({ name, mime_type, size }) => `[attached: ${name}, ${mime_type}, ${size} bytes]`);
  return [...textLines(content), ...files].join('\n');
}

function textLines(content: MessageContent): string[] {
  if (content.type === 'text') return content.text === '' ? [] : [content.text];
  if (content.type === 'artifact')
    return [`[artifact ${content.artifact_id}: ${content.title}, version ${content.version}, ${content.status}]`];
  if (content.type !== 'action_card') return [];
  const options = content.actions.map(({ label }) => `- ${label}`);
  return [content.title, content.description, ...options].filter((line) => line !== '');
}
