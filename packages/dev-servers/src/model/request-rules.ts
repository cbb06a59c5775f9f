import type { ModelServerMessage, ModelServerRequest } from './model-script.js';

/** The names that providers accept for tools. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** OpenAI accepts no more calls per message. */
const MAX_CALLS = 128;

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(isWellFormed);
}

function brokenTools({ messages, tools = [] }: ModelServerRequest): string | undefined {
  const names = tools.map((tool) => tool.function.name);
  const invalid = names.find((name) => !NAME.test(name));
  if (invalid !== undefined) return `tools: the name '${invalid}' does not match ${NAME.source}`;
  if (new Set(names).size < names.length) return 'tools: names must be unique';
  const hasCalls = messages.some(({ tool_calls = [] }) => tool_calls.length > 0);
  return hasCalls && names.length === 0 ? 'tools: required, because the messages contain tool calls' : undefined;
}

function brokenCalls(messages: readonly ModelServerMessage[]): string | undefined {
  const seen = new Set<string>();
  const tooMany = messages.findIndex(({ tool_calls = [] }) => tool_calls.length > MAX_CALLS);
  if (tooMany >= 0) return `messages[${tooMany}].tool_calls: expected an array with maximum length ${MAX_CALLS}`;
  for (const { id, function: called } of messages.flatMap(({ tool_calls = [] }) => tool_calls)) {
    if (id === '' || seen.has(id)) return `tool_calls: the id '${id}' is empty or not unique`;
    if (!NAME.test(called.name)) return `tool_calls: the name '${called.name}' does not match ${NAME.source}`;
    if (!isObject(called.arguments)) return `tool_calls: the arguments of '${called.name}' must be a JSON object`;
    seen.add(id);
  }
  return undefined;
}

/** Tool messages must answer each call in the preceding assistant message once, and no other. */
function brokenResults(messages: readonly ModelServerMessage[]): string | undefined {
  let open = new Set<string>();
  for (const { role, tool_call_id = '', tool_calls = [] } of messages) {
    if (role === 'tool') {
      if (!open.delete(tool_call_id)) return `messages: no preceding call has the id '${tool_call_id}'`;
    } else {
      if (open.size > 0) return `messages: the calls ${[...open].join(', ')} have no results`;
      open = new Set(tool_calls.map(({ id }) => id));
    }
  }
  return open.size > 0 ? `messages: the calls ${[...open].join(', ')} have no results` : undefined;
}

/** Which role may follow which, after the optional system message. */
const FOLLOWERS: Record<string, readonly string[]> = {
  start: ['user'],
  user: ['assistant'],
  assistant: ['user', 'tool'],
  tool: ['tool', 'assistant'],
};

function brokenRoles(messages: readonly ModelServerMessage[]): string | undefined {
  let last = 'start';
  for (const [index, { role }] of messages.entries()) {
    if (role === 'system' && index === 0) continue;
    if (FOLLOWERS[last]?.includes(role) !== true) return `messages: roles must alternate, but ${role} follows ${last}`;
    last = role;
  }
  return last === 'user' || last === 'tool' ? undefined : 'messages: the last message must be of a user or a tool';
}

/** Both protocols: call ids, names and arguments, results and valid text. @returns what is wrong */
export function brokenContent(request: ModelServerRequest): string | undefined {
  const { messages } = request;
  if (!isWellFormed(request)) return 'the body has a lone surrogate';
  return brokenTools(request) ?? brokenCalls(messages) ?? brokenResults(messages);
}

/** The rules that strict OpenAI-compatible servers apply. @returns what is wrong */
export function brokenRequest(request: ModelServerRequest): string | undefined {
  const empty = request.messages.find(
    ({ role, content, tool_calls = [] }) =>
      role !== 'tool' && (content ?? '').length === 0 && !(role === 'assistant' && tool_calls.length > 0),
  );
  if (empty !== undefined) return `messages: the content of a message of the role ${empty.role} is empty`;
  return brokenRoles(request.messages) ?? brokenContent(request);
}
