import { create } from '@bufbuild/protobuf';
import { AgentActivity, type Agent, type RunTurnRequest, type Usage, UsageSchema } from '@uswarm/runtime-proto';
import type { ContextLimits } from '../tokens/budget.js';
import { fitPrompt, type FittedPrompt } from '../context/fit-prompt.js';
import { type ModelContexts, scaleOf } from '../context/model-context.js';
import { roomFor } from '../context/turn-fit.js';
import {
  type FunctionTool,
  ModelError,
  type ModelPort,
  type PromptMessage,
  type Step,
  type StepOptions,
  type StepRequest,
  type StepUsage,
} from '../models/port.js';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import { attemptEvent, usageEvent } from '../turns/turn-events.js';
import { createOverflows, type Reduction } from './overflows.js';
import type { ReplyWriter } from './reply-writer.js';

/** Repetitions of a call that the gateway refused because of the budget: parallel calls can release tokens. */
const MAX_BUDGET_REFUSALS = 10;

export interface ModelCallDeps {
  model: ModelPort;
  contexts: ModelContexts;
  /** Called when a turn has sent a smaller prompt, or has given up. */
  onReduced: (reduction: Reduction) => void;
  untrusted: UntrustedBlock;
  writer: ReplyWriter;
  signal: AbortSignal;
  /** The bearer token for the model gateway. */
  token: () => string | undefined;
  /** See StepOptions. */
  onLongWait?: ((ms: number) => void) | undefined;
  /** Resolves when the orchestrator has committed all events so far. */
  committed: () => Promise<void>;
}

/** Shared by all model calls in a turn. */
export interface TurnInput {
  request: RunTurnRequest;
  agent: Agent;
  toolProblem: string | undefined;
  limits: ContextLimits;
}

export interface ModelCall {
  /** Steps and tool results in this turn so far. */
  turn: readonly PromptMessage[];
  tools: readonly FunctionTool[];
  listed: readonly FunctionTool[];
  toolChoice: StepRequest['toolChoice'];
  /** The text continues the previous step, so no paragraph starts. */
  continues: boolean;
}

/** A model call that ended. */
export interface CalledModel {
  step: Step;
  /** The last attempt's usage, which is not reported yet: it is committed with the step's entry. */
  usage: Usage | undefined;
}

/** Makes the model calls of one turn. */
export type CallModel = (call: ModelCall) => Promise<CalledModel>;

export function createCallModel(input: TurnInput, deps: ModelCallDeps): CallModel {
  const { request, agent, limits } = input;
  const { model, contexts, writer, untrusted, signal, token, onLongWait, committed } = deps;
  let usageStep = request.firstStep;
  const overflows = createOverflows(agent.model, { contexts, onReduced: deps.onReduced });
  let budgetRefusals = 0;

  /** Waits until the orchestrator has reserved the tokens for a request. */
  async function reserve(announced: Parameters<typeof attemptEvent>[0]): Promise<void> {
    writer.event(attemptEvent({ step: usageStep, provider: model.provider, ...announced }), true);
    await committed();
  }
  const announce: StepOptions['announce'] = request.budgeted
    ? ({ model: name, promptTokens, maxOutputTokens }) =>
        reserve({ model: name, promptTokens: BigInt(promptTokens), maxOutputTokens: BigInt(maxOutputTokens) })
    : undefined;

  function toUsage({ model: name, estimated, ...tokens }: StepUsage): Usage {
    const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = tokens;
    const used = { promptTokens, completionTokens, cachedTokens, reasoningTokens };
    const counts = Object.fromEntries(Object.entries(used).map(([key, count]) => [key, BigInt(Math.ceil(count))]));
    const usage = create(UsageSchema, { step: usageStep, provider: model.provider, model: name, estimated, ...counts });
    usageStep += 1;
    return usage;
  }

  async function attempt({ turn, tools, listed, toolChoice }: ModelCall): Promise<CalledModel> {
    const context = contexts.of(agent.model);
    const room = roomFor(limits, { context, window: contexts.window(agent.model), fit: overflows.fit });
    const fitted = fitPrompt({ ...input, turn, tools, scale: scaleOf(context), untrusted }, room);
    const { maxOutputTokens } = room;
    overflows.sending(fitted, maxOutputTokens);
    const call = {
      model: agent.model,
      prompt: fitted.prompt,
      tools: fitted.tools,
      listed,
      toolChoice,
      maxOutputTokens,
    };
    return receive(call, fitted);
  }

  async function receive(call: StepRequest, { size }: FittedPrompt): Promise<CalledModel> {
    const start = writer.mark();
    const onLoading = (): void => writer.activity(AgentActivity.PENDING);
    let last: Usage | undefined;
    let reported: number | undefined;
    try {
      for await (const event of model.step(call, { signal, token, onLongWait, onLoading, announce })) {
        if (event.type === 'text') writer.write(event.text);
        else if (event.type === 'retracted') writer.retract(start);
        else if (event.type === 'end') {
          const usage = last;
          last = undefined;
          contexts.accepted(agent.model, { estimated: size.tokens, bytes: size.bytes, reported });
          overflows.accepted();
          return { step: event.step, usage };
        } else if (event.type === 'refused') {
          writer.event(usageEvent({ step: usageStep, provider: model.provider, refused: true }));
          usageStep += 1;
        } else {
          const usage = toUsage(event.usage);
          if (event.isLast === true) last = usage;
          else writer.event(usageEvent(usage));
          if (!event.usage.estimated) reported = event.usage.promptTokens;
        }
      }
    } finally {
      // The step was interrupted after its usage.
      if (last !== undefined) writer.event(usageEvent(last));
    }
    throw new TypeError('the model call ended without a result');
  }

  return async (call) => {
    writer.activity(AgentActivity.THINKING);
    if (!call.continues) writer.breakParagraph();
    const start = writer.mark();
    for (;;) {
      try {
        return await attempt(call);
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        if (error.budgetReached && request.budgeted && budgetRefusals < MAX_BUDGET_REFUSALS) {
          budgetRefusals += 1;
          // The orchestrator suspends the turn, or commits the event if tokens are left again.
          await reserve({ model: agent.model, metered: true });
        } else {
          overflows.refused(error);
          // A response can end because it has filled the context.
          writer.retract(start);
        }
      }
    }
  };
}
