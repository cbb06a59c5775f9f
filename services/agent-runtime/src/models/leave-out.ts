import type { FunctionTool, Prompt, PromptMessage, StepRequest } from './port.js';

// Requests without a part that the server refuses. What it contains is moved, or becomes text.

const NO_TOOLS =
  'The model server accepts no tools, so you have none: you cannot search, remember, delegate or write documents. If the user asks ' +
  'for something that needs a tool, say that this model cannot use tools.';
const NO_IMAGE = '[An image that this model cannot see. Tell the user if the image matters.]';

type UserMessage = Extract<PromptMessage, { role: 'user' }>;
type UserPart = UserMessage['content'][number];
type AssistantPart = Exclude<Extract<PromptMessage, { role: 'assistant' }>['content'], string>[number];
type ToolPart = Extract<PromptMessage, { role: 'tool' }>['content'][number];
type Output = Extract<ToolPart, { type: 'tool-result' }>['output'];

const text = (value: string): { type: 'text'; text: string } => ({ type: 'text', text: value });

/** Joins consecutive user messages, because many servers require alternating roles. */
function joinUsers(messages: readonly PromptMessage[]): PromptMessage[] {
  const joined: PromptMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === 'user' && last?.role === 'user') {
      joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] };
    } else joined.push(message);
  }
  return joined;
}

/** The system prompt's text becomes the beginning of the first user message. */
function withoutSystem(prompt: Prompt): Prompt {
  const system = prompt.flatMap((message) => (message.role === 'system' ? [message.content] : []));
  const others = prompt.filter(({ role }) => role !== 'system');
  if (system.length === 0) return prompt;
  return joinUsers([{ role: 'user', content: [text(system.join('\n\n'))] }, ...others]);
}

function partsOf(output: Output): UserPart[] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return [text(output.value)];
    case 'json':
    case 'error-json':
      return [text(JSON.stringify(output.value))];
    case 'execution-denied':
      return [text(output.reason ?? 'not executed')];
    case 'content':
      return output.value.flatMap((part): UserPart[] => {
        if (part.type === 'text') return [text(part.text)];
        return part.type === 'file' ? [part] : [];
      });
  }
}

const toolAsUser = (part: ToolPart): UserPart[] =>
  part.type === 'tool-result' ? [text(`[The result of ${part.toolName}:]`), ...partsOf(part.output)] : [];

const callAsText = (part: AssistantPart): AssistantPart =>
  part.type === 'tool-call' ? text(`[I called ${part.toolName} with ${JSON.stringify(part.input)}.]`) : part;

/** Earlier calls and their results become text. The model is told that it has no tools. */
function withoutTools(prompt: Prompt): Prompt {
  const messages = prompt.map((message): PromptMessage => {
    if (message.role === 'system') return { ...message, content: `${message.content}\n\n${NO_TOOLS}` };
    if (message.role === 'tool') return { role: 'user', content: message.content.flatMap(toolAsUser) };
    return message.role === 'assistant' ? { ...message, content: message.content.map(callAsText) } : message;
  });
  const told = messages.some(({ role }) => role === 'system');
  return joinUsers(told ? messages : [{ role: 'user', content: [text(NO_TOOLS)] }, ...messages]);
}

const isImage = (part: { type: string; mediaType?: string }): boolean =>
  part.type === 'file' && (part.mediaType ?? '').startsWith('image');

const imageAsText = <Part extends { type: string }>(part: Part): Part =>
  isImage(part) ? (text(NO_IMAGE) as unknown as Part) : part;

function resultWithoutImages(part: ToolPart): ToolPart {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  return { ...part, output: { ...part.output, value: part.output.value.map(imageAsText) } };
}

const withoutImages = (prompt: Prompt): Prompt =>
  prompt.map((message): PromptMessage => {
    if (message.role === 'user') return { ...message, content: message.content.map(imageAsText) };
    return message.role === 'tool' ? { ...message, content: message.content.map(resultWithoutImages) } : message;
  });

/** Earlier reasoning, which another model or another account cannot read. */
const withoutReasoning = (prompt: Prompt): Prompt =>
  prompt.map((message): PromptMessage => {
    if (message.role !== 'assistant') return message;
    const content = message.content.filter(({ type }) => type !== 'reasoning');
    return content.length === 0 ? message : { ...message, content };
  });

/** Removes the refused parts from a request. */
export function leaveOut(
  { prompt, tools }: Pick<StepRequest, 'prompt' | 'tools'>,
  parts: ReadonlySet<string>,
): { prompt: Prompt; tools: readonly FunctionTool[] } {
  let left = prompt;
  const hasTools = tools.length > 0 || prompt.some(({ role }) => role === 'tool');
  if (parts.has('reasoning')) left = withoutReasoning(left);
  if (parts.has('images')) left = withoutImages(left);
  if (parts.has('tools') && hasTools) left = withoutTools(left);
  if (parts.has('system')) left = withoutSystem(left);
  return { prompt: left, tools: parts.has('tools') ? [] : tools };
}
