import { AgentActivity, type Agent, type RunTurnRequest } from '@uswarm/runtime-proto';
import type { ContextLimits } from '../context/budget.js';
import { buildPrompt } from '../context/build-prompt.js';
import type { Calibration } from '../context/calibrate.js';
import {
  type FunctionTool,
  ModelError,
  type ModelPort,
  type PromptMessage,
  type Step,
  type StepRequest,
} from '../models/port.js';
import type { UntrustedBlock } from '../tools/untrusted-block.js';
import { usageEvent } from '../turns/turn-events.js';
import type { ReplyWriter } from './reply-writer.js';

/** Refusals for size that one turn survives; each doubles the estimate of the prompt. */
const MAX_OVERFLOWS = 6;

export interface ModelCallDeps {
  model: ModelPort;
  calibration: Calibration;
  untrusted: UntrustedBlock;
  writer: ReplyWriter;
  signal: AbortSignal;
  /** The bearer token for the model gateway. */
  token: () => string | undefined;
  /** See StepOptions. */
  onLongWait?: ((ms: number) => void) | undefined;
}

/** What stays the same for all model calls of a turn. */
export interface TurnInput {
  request: RunTurnRequest;
  agent: Agent;
  tools: readonly FunctionTool[];
  toolProblem: string | undefined;
  limits: ContextLimits;
}

export interface ModelCall {
  /** Steps and tool results of this turn so far. */
  turn: readonly PromptMessage[];
  toolChoice: StepRequest['toolChoice'];
  /** The text continues the previous step, so no paragraph starts. */
  continues: boolean;
}

/** Makes the model calls of one turn. */
export type CallModel = (call: ModelCall) => Promise<Step>;

export function createCallModel(input: TurnInput, deps: ModelCallDeps): CallModel {
  const { request, agent, tools, limits } = input;
  const { model, calibration, writer, untrusted, signal, token, onLongWait } = deps;
  let usageStep = request.firstStep;
  let overflows = 0;

  async function attempt({ turn, toolChoice }: ModelCall): Promise<Step> {
    const scale = calibration.scale(agent.model);
    const { prompt, estimatedTokens } = buildPrompt({ ...input, turn, scale, untrusted });
    const start = writer.mark();
    const call = { model: agent.model, prompt, tools, toolChoice, maxOutputTokens: limits.maxOutputTokens };
    for await (const event of model.step(call, { signal, token, onLongWait })) {
      if (event.type === 'text') writer.write(event.text);
      else if (event.type === 'retracted') writer.retract(start);
      else if (event.type === 'end') return event.step;
      else {
        const { model: name, promptTokens, completionTokens, cachedTokens, reasoningTokens, estimated } = event.usage;
        const used = { promptTokens, completionTokens, cachedTokens, reasoningTokens };
        const counts = Object.fromEntries(
          Object.entries(used).map(([key, tokens]) => [key, BigInt(Math.ceil(tokens))]),
        );
        writer.event(usageEvent({ step: usageStep, provider: model.provider, model: name, estimated, ...counts }));
        usageStep += 1;
        if (!estimated) calibration.observe(agent.model, { estimated: estimatedTokens, scale, reported: promptTokens });
      }
    }
    throw new TypeError('the model call ended without a result');
  }

  return async (call) => {
    writer.activity(AgentActivity.THINKING);
    if (!call.continues) writer.breakParagraph();
    for (;;) {
      try {
        return await attempt(call);
      } catch (error) {
        if (!(error instanceof ModelError) || !error.contextOverflow || overflows >= MAX_OVERFLOWS) throw error;
        overflows += 1;
        calibration.overflowed(agent.model);
      }
    }
  };
}
