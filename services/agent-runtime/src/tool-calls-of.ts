import type { AssistantMessage, PromptMessage } from './models/port.js';

export type ToolCallPart = Extract<AssistantMessage['content'][number], { type: 'tool-call' }>;

/** The calls in a model's message; none in other messages. */
export const toolCallsOf = ({ role, content }: PromptMessage): ToolCallPart[] =>
  role === 'assistant' ? content.filter((part) => part.type === 'tool-call') : [];
