import { WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { ToolState } from '@uswarm/runtime-proto';
import type { ModelMessage, ToolCall } from '../models/model.js';
import type { BuiltInTool } from '../tools/define-tool.js';
import type { ToolResult, ToolSource } from '../tools/tool.js';
import type { UntrustedBlock } from '../tools/untrusted-block.js';
import { visibleText } from '../tools/untrusted-text.js';
import { messageEvent, toolEvent } from '../turns/turn-events.js';
import type { ReplyWriter } from './reply-writer.js';

/** Tool calls that a model may ask for in one step. */
const MAX_CALLS_PER_STEP = 8;

const MAX_LINE = 200;

function oneLine(text: string): string {
  const line = visibleText(text.replace(/\s+/g, ' ')).trim();
  return line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE - 1).toWellFormed()}…`;
}

function parseInput(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function describe(name: string, query: string): string {
  return name === WEB_SEARCH_TOOL ? oneLine(`Searching the web for “${query}”`) : `Using ${name}`;
}

export interface ToolCallDeps {
  tools: Pick<ToolSource, 'call'>;
  builtIn: readonly BuiltInTool[];
  /** Names of the tools that the model was offered. */
  offered: ReadonlySet<string>;
  /** The calling agent. */
  agentId: string;
  writer: Pick<ReplyWriter, 'event'>;
  untrusted: UntrustedBlock;
  signal: AbortSignal;
}

async function run(
  call: ToolCall,
  input: Record<string, unknown> | undefined,
  deps: ToolCallDeps,
): Promise<ToolResult> {
  const { tools, offered, signal } = deps;
  if (!offered.has(call.name)) return { text: `${oneLine(call.name)}: unknown tool.`, failed: true };
  if (input === undefined) return { text: `${call.name}: the arguments are not a JSON object.`, failed: true };
  return await tools.call(call.name, input, signal);
}

/** Built-in tools emit no tool status: their effect is visible. */
function runBuiltIn(tool: BuiltInTool, call: ToolCall, { writer, agentId }: ToolCallDeps): ModelMessage {
  const input = parseInput(call.arguments);
  const problem = { text: `${call.name}: the arguments are not a JSON object.`, failed: true };
  const { text, failed, message } = input === undefined ? { ...problem, message: undefined } : tool.run(input);
  if (message !== undefined) writer.event(messageEvent({ key: call.id, agentId, content: message }));
  return { role: 'tool', callId: call.id, name: call.name, text, data: text, failed };
}

async function execute(call: ToolCall, deps: ToolCallDeps): Promise<ModelMessage> {
  const builtIn = deps.builtIn.find(({ definition }) => definition.name === call.name);
  if (builtIn !== undefined && deps.offered.has(call.name)) return runBuiltIn(builtIn, call, deps);
  const input = parseInput(call.arguments);
  const query = call.name === WEB_SEARCH_TOOL && typeof input?.['query'] === 'string' ? oneLine(input['query']) : '';
  const tool = oneLine(call.name);
  const event = { callId: call.id, tool, query };
  deps.writer.event(toolEvent({ ...event, state: ToolState.RUNNING, description: describe(tool, query) }));
  const { text, failed } = await run(call, input, deps);
  const end = failed
    ? { state: ToolState.FAILED, description: oneLine(text) }
    : { state: ToolState.COMPLETED, description: describe(tool, query) };
  deps.writer.event(toolEvent({ ...event, ...end }));
  return { role: 'tool', callId: call.id, name: tool, text: deps.untrusted(tool, text), data: text, failed };
}

/**
 * Runs the calls of one step concurrently and returns their results as messages, in the order of the calls.
 * A failed tool is a result, which the model handles.
 * @throws only the signal's reason.
 */
export function executeToolCalls(calls: readonly ToolCall[], deps: ToolCallDeps): Promise<ModelMessage[]> {
  return Promise.all(
    calls.map((call, index): ModelMessage | Promise<ModelMessage> => {
      if (index < MAX_CALLS_PER_STEP) return execute(call, deps);
      const text = `At most ${MAX_CALLS_PER_STEP} tool calls run in one step; this one did not.`;
      return { role: 'tool', callId: call.id, name: oneLine(call.name), text, data: text, failed: true };
    }),
  );
}
