import type { PromptMessage } from '../models/port.js';

export type Part = Exclude<PromptMessage['content'], string>[number];

export type UserPart = Extract<PromptMessage, { role: 'user' }>['content'][number];

export type ToolResultPart = Extract<Part, { type: 'tool-result' }>;

export type ToolOutput = ToolResultPart['output'];

/** A user message with one text, because some servers accept no list of texts. */
export const userMessage = (text: string, pictures: readonly UserPart[] = []): PromptMessage => ({
  role: 'user',
  content: [{ type: 'text', text }, ...pictures],
});

const isText = (part: Part): part is Extract<Part, { type: 'text' }> => part.type === 'text';

/** One text if both contents are texts without options. */
function joinParts<P extends Part>(one: readonly P[], other: readonly P[]): P[] {
  const all = [...one, ...other];
  const plain = all.every((part) => isText(part) && part.providerOptions === undefined);
  if (!plain) return all;
  const text = all.map((part) => (isText(part) ? part.text : '')).join('\n\n');
  return [{ type: 'text', text } as P];
}

function join(one: PromptMessage, other: PromptMessage): PromptMessage | undefined {
  if (one.role === 'user' && other.role === 'user') return { ...one, content: joinParts(one.content, other.content) };
  if (one.role === 'assistant' && other.role === 'assistant') {
    return { ...one, content: joinParts(one.content, other.content) };
  }
  if (one.role === 'tool' && other.role === 'tool') return { ...one, content: [...one.content, ...other.content] };
  return undefined;
}

/** Joins neighbours of equal role, because some models accept only alternating roles. */
export function mergeNeighbours(messages: readonly PromptMessage[]): PromptMessage[] {
  const merged: PromptMessage[] = [];
  for (const message of messages) {
    const previous = merged.at(-1);
    const joined = previous === undefined ? undefined : join(previous, message);
    if (joined === undefined) merged.push(message);
    else merged[merged.length - 1] = joined;
  }
  return merged;
}
