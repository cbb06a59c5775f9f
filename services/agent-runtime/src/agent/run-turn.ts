import { AgentActivity, type Agent, type Done, type RunTurnRequest } from '@uswarm/runtime-proto';
import type { Logger } from '@uswarm/service-kit';
import type { ModelMessage, ModelProvider, ModelRequest, ToolCall, ToolDefinition } from '../models/model.js';
import { BUILT_IN_TOOLS } from '../tools/built-in-tools.js';
import type { ToolServer, ToolSource } from '../tools/tool.js';
import { createUntrustedBlock, type UntrustedBlock } from '../tools/untrusted-block.js';
import { usageEvent } from '../turns/turn-events.js';
import type { TurnContext, TurnRunner } from '../turns/turn-registry.js';
import { toModelMessages } from './conversation.js';
import { completed, failed, interrupted, unexpected } from './outcome.js';
import { createReplyWriter, type ReplyWriter, type Schedule } from './reply-writer.js';
import { systemPrompt } from './system-prompt.js';
import { executeToolCalls } from './tool-calls.js';

/** Model calls per turn. */
export const MAX_STEPS = 8;

export interface TurnRunnerDeps {
  model: ModelProvider;
  tools: ToolServer;
  logger: Pick<Logger, 'error' | 'info'>;
  /** Milliseconds for which text is buffered before it becomes a chunk. */
  coalesceMs?: number;
  schedule?: Schedule;
}

interface Offer {
  tools: readonly ToolDefinition[];
  problem?: string;
}

/** The available tools among the allowed ones. Without the tool server, the built-in tools remain. */
async function offerTools(source: ToolSource, allowed: readonly string[], signal: AbortSignal): Promise<Offer> {
  const own = BUILT_IN_TOOLS.map(({ definition }) => definition).filter(({ name }) => allowed.includes(name));
  const others = allowed.filter((name) => !own.some((tool) => tool.name === name));
  if (others.length === 0) return { tools: own };
  try {
    const listed = await source.list(signal);
    return { tools: [...listed.filter(({ name }) => others.includes(name)), ...own] };
  } catch (error) {
    signal.throwIfAborted();
    return { tools: own, problem: error instanceof Error ? error.message : String(error) };
  }
}

interface StepDeps {
  model: ModelProvider;
  untrusted: UntrustedBlock;
  writer: ReplyWriter;
  signal: AbortSignal;
}

/** Makes one model call: emits its text and usage as events and returns its tool calls. */
async function callModel(
  request: ModelRequest,
  step: number,
  { model, writer, signal }: Omit<StepDeps, 'untrusted'>,
): Promise<{ text: string; toolCalls: readonly ToolCall[] }> {
  let text = '';
  let toolCalls: readonly ToolCall[] = [];
  writer.activity(AgentActivity.THINKING);
  writer.breakParagraph();
  for await (const event of model.stream(request, { signal })) {
    signal.throwIfAborted();
    if (event.type === 'text') {
      text += event.text;
      writer.write(event.text);
    } else if (event.type === 'tool_calls') {
      toolCalls = event.calls;
    } else if (event.type === 'usage') {
      const { promptTokens, completionTokens } = event;
      const counts = { promptTokens: BigInt(promptTokens), completionTokens: BigInt(completionTokens) };
      writer.event(usageEvent({ step, provider: model.name, model: event.model, ...counts }));
    }
  }
  signal.throwIfAborted();
  return { text, toolCalls };
}

async function converse(request: RunTurnRequest, agent: Agent, tools: ToolSource, deps: StepDeps): Promise<Done> {
  const { writer, untrusted, signal } = deps;
  writer.activity(AgentActivity.READING);
  const offer = await offerTools(tools, request.tools, signal);
  const offered = new Set(offer.tools.map(({ name }) => name));
  const system = systemPrompt(request, agent, offer.problem);
  const messages: ModelMessage[] = toModelMessages(request, agent, untrusted);
  const calling = { tools, builtIn: BUILT_IN_TOOLS, offered, agentId: agent.id, writer, untrusted, signal };
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const call = { model: agent.model, system, messages, tools: offer.tools };
    const { text, toolCalls } = await callModel(call, request.firstStep + step, deps);
    if (toolCalls.length === 0) return completed(writer.text);
    if (step + 1 === MAX_STEPS) break;
    messages.push({ role: 'assistant', text, toolCalls });
    messages.push(...(await executeToolCalls(toolCalls, calling)));
  }
  return failed(writer.text, 'step_limit_reached', `The agent did not finish within ${MAX_STEPS} steps.`);
}

/** The agent loop: calls the model and the tools that it requests, until it answers. */
export function createTurnRunner(deps: TurnRunnerDeps): TurnRunner {
  const { model, tools, logger, coalesceMs = 50, schedule } = deps;
  const untrusted = createUntrustedBlock();
  return async (request: RunTurnRequest, { emit, signal, toolToken }: TurnContext): Promise<Done> => {
    const { agent, turnId, generation } = request;
    if (agent === undefined) throw new TypeError('the turn has no agent');
    const writer = createReplyWriter({ emit, coalesceMs, ...(schedule === undefined ? {} : { schedule }) });
    let done: Done;
    try {
      done = await converse(request, agent, tools.forTurn(toolToken), { model, writer, untrusted, signal });
    } catch (error) {
      const end = interrupted(error, writer.text);
      if (end === undefined) logger.error({ err: error, turn_id: turnId, generation }, 'turn failed unexpectedly');
      done = end ?? unexpected(writer.text);
    } finally {
      writer.flush();
    }
    logger.info({ turn_id: turnId, generation, outcome: done.outcome, error_code: done.errorCode }, 'turn ended');
    return done;
  };
}
