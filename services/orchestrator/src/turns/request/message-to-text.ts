import type { Attachment, MessageContent } from '@uswarm/contract';

/** An upload that is attached to a message. */
export type StoredFile = Pick<Attachment, 'id' | 'type' | 'name' | 'mime_type' | 'size'>;

export interface MessageParts {
  content: MessageContent;
  attachments: readonly StoredFile[];
}

/** Agents name a file by its id. */
export const fileLine = ({ id, name, mime_type, size }: StoredFile): string =>
  `[attached: ${name}, ${mime_type}, ${size} bytes, id ${id}]`;

/** Finds the file ids in such lines. */
export const fileIds = (text: string): string[] =>
  [...text.matchAll(/\[attached: [^\n]*, id ([\da-f-]{36})\]/g)].flatMap(([, id]) => id ?? []);

/** Includes attachment and artifact names, and card options. Pure. */
export function messageToText({ content, attachments }: MessageParts): string {
  return [...textLines(content), ...attachments.map(fileLine)].join('\n');
}

function textLines(content: MessageContent): string[] {
  if (content.type === 'text') return content.text === '' ? [] : [content.text];
  if (content.type === 'artifact')
    return [`[artifact ${content.artifact_id}: ${content.title}, version ${content.version}, ${content.status}]`];
  if (content.type !== 'action_card') return [];
  const options = content.actions.map(({ label }) => `- ${label}`);
  return [content.title, content.description, ...options].filter((line) => line !== '');
}
