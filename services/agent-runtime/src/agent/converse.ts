import { AgentActivity, type Agent, type Done, type RunTurnRequest } from '@uswarm/runtime-proto';
import type { ContextLimits } from '../context/budget.js';
import type { FunctionTool, PromptMessage, Step, ToolCall } from '../models/port.js';
import { builtInTools } from '../tools/built-in-tools.js';
import type { BuiltInTool } from '../tools/define-tool.js';
import type { ToolSource } from '../tools/tool.js';
import { createCallModel, type ModelCallDeps } from './call-model.js';
import { completed, failed, refused, silent } from './outcome.js';
import { executeToolCalls } from './tool-calls.js';

/** Model calls per turn. The last one has to answer. */
export const MAX_STEPS = 24;
/** Milliseconds of a turn after which the next model call has to answer: the orchestrator ends the turn after 30 minutes. */
const MAX_RUNNING_MS = 25 * 60_000;
/** Model calls with only invalid tool calls, in a row, after which the next one has to answer. */
const MAX_INVALID_STEPS = 3;

const CONTINUE = 'Continue exactly where your text stopped. Do not repeat anything.';

interface Offer {
  tools: readonly FunctionTool[];
  problem?: string;
}

/** The available tools among the allowed ones. Without the tool server, the built-in tools remain. */
async function offerTools(
  source: ToolSource,
  builtIn: readonly BuiltInTool[],
  allowed: readonly string[],
  signal: AbortSignal,
): Promise<Offer> {
  const own = builtIn.map(({ definition }) => definition);
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

export interface ConverseDeps extends ModelCallDeps {
  tools: ToolSource;
  limits: ContextLimits;
  /** Monotonic clock in milliseconds. */
  now: () => number;
}

const isInvalid = (offered: ReadonlySet<string>) => {
  return ({ name, input }: ToolCall): boolean => input === undefined || !offered.has(name);
};

/** Calls the model and the tools that it requests, until it answers. */
export async function converse(request: RunTurnRequest, agent: Agent, deps: ConverseDeps): Promise<Done> {
  const { tools: source, limits, writer, untrusted, signal, now } = deps;
  const startedAt = now();
  writer.activity(AgentActivity.READING);
  const builtIn = builtInTools(agent, request.tools);
  const { tools, problem } = await offerTools(source, builtIn, request.tools, signal);
  const offered = new Set(tools.map(({ name }) => name));
  const callModel = createCallModel({ request, agent, tools, toolProblem: problem, limits }, deps);
  const images = request.limits?.images ?? false;
  const calling = { tools: source, builtIn, offered, agentId: agent.id, writer, untrusted, images, signal };
  const turn: PromptMessage[] = [];
  let invalidSteps = 0;
  let continues = false;
  let wasEmpty = false;

  const mustAnswer = (number: number): boolean =>
    number === MAX_STEPS || invalidSteps === MAX_INVALID_STEPS || now() - startedAt > MAX_RUNNING_MS;

  /** Ends the turn after a step without tool calls; undefined if the model is called again. */
  function afterText({ finish, text, message }: Step): Done | undefined {
    if (finish === 'refused') return refused(writer.text);
    if (finish === 'length') {
      if (continues)
        return failed(writer.text, 'output_limit_reached', 'The answer reached the length limit of the model.');
      continues = true;
      // Without a text to continue, the call is repeated: some servers reject a user message after tool results.
      if (message.content.length > 0) turn.push({ role: 'user', content: [{ type: 'text', text: CONTINUE }] });
      return undefined;
    }
    if (text.trim() !== '' || writer.text !== '') return completed(writer.text);
    // A card asks the user without further text.
    if (writer.messages > 0) return silent();
    if (wasEmpty) return failed('', 'model_unavailable', 'The model returned an empty answer.');
    wasEmpty = true;
    return undefined;
  }

  for (let number = 1; ; number += 1) {
    const forced = mustAnswer(number);
    const step = await callModel({ turn, toolChoice: forced ? 'none' : 'auto', continues });
    if (step.message.content.length > 0) turn.push(step.message);
    if (step.calls.length === 0) {
      const done = afterText(step);
      if (done !== undefined && (number < MAX_STEPS || step.finish !== 'length')) return done;
      if (number >= MAX_STEPS) return failed(writer.text, 'step_limit_reached', limitSentence);
      continue;
    }
    if (forced) return failed(writer.text, 'step_limit_reached', limitSentence);
    continues = false;
    const { message, isSilent } = await executeToolCalls(step.calls, calling);
    if (isSilent) return writer.text === '' ? silent() : completed(writer.text);
    turn.push(message);
    invalidSteps = step.calls.every(isInvalid(offered)) ? invalidSteps + 1 : 0;
  }
}

const limitSentence = `The agent did not finish within ${MAX_STEPS} steps.`;
