import type { Done, RunTurnRequest } from '@uswarm/runtime-proto';
import type { Logger } from '@uswarm/service-kit';
import { createModelContexts, type ModelContexts } from '../context/model-context.js';
import { causeCode } from '../models/cause-code.js';
import type { ModelPort } from '../models/port.js';
import type { ToolServer } from '../tools/tool.js';
import { createUntrustedBlock } from '../text/untrusted-block.js';
import type { TurnContext, AgentLoop } from '../turns/turn-registry.js';
import { converse } from './converse.js';
import { type ConfiguredLimits, contextLimits } from './model-limits.js';
import { interrupted, TurnOvertime, unexpected } from './outcome.js';
import { createReplyWriter, type Schedule } from './reply-writer.js';

export interface AgentLoopDeps {
  model: ModelPort;
  tools: ToolServer;
  logger: Pick<Logger, 'error' | 'warn' | 'info'>;
  /** Learned model contexts. Default: none yet. */
  contexts?: ModelContexts;
  limits?: ConfiguredLimits;
  schedule?: Schedule;
  /** Milliseconds after which a turn ends with what it has. */
  maxRunningMs?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
}

/** As long as the orchestrator waits for a turn. */
const MAX_RUNNING_MS = 30 * 60_000;

/** Log message when a smaller prompt was sent. */
export const REDUCED = 'context reduced after a refusal';

/** Runs turns: calls the model and tools, and reports the reply as events. */
export function createAgentLoop(deps: AgentLoopDeps): AgentLoop {
  const { model, tools, logger, limits = {}, schedule, now = () => performance.now() } = deps;
  const { maxRunningMs = MAX_RUNNING_MS, contexts = createModelContexts() } = deps;
  const untrusted = createUntrustedBlock();
  return async (
    request: RunTurnRequest,
    { emit, committed, resolution, decision, steering, signal, toolToken, modelToken }: TurnContext,
  ): Promise<Done> => {
    const { agent, turnId, generation } = request;
    if (agent === undefined) throw new TypeError('the turn has no agent');
    const writer = createReplyWriter({ emit, now, ...(schedule === undefined ? {} : { schedule }) });
    const overtime = new AbortController();
    const timer = setTimeout(
      () => overtime.abort(new TurnOvertime('the running time of the turn is over')),
      maxRunningMs,
    );
    const running = AbortSignal.any([signal, overtime.signal]);
    let done: Done;
    let errorCause: string | undefined;
    let contextFactor: number | undefined;
    try {
      done = await converse(request, agent, {
        model,
        tools: tools.forTurn(toolToken),
        limits: contextLimits(request.limits, limits),
        contexts,
        onReduced(reduction) {
          contextFactor = Math.min(contextFactor ?? 1, reduction.factor);
          logger.warn({ turn_id: turnId, generation, ...reduction }, REDUCED);
        },
        untrusted,
        writer,
        committed: () => committed(running),
        resolution: (callId) => resolution(callId, running),
        decision: (callId) => decision(callId, running),
        steering,
        signal: running,
        token: modelToken,
        now,
      });
    } catch (error) {
      const end = interrupted(error, writer.text);
      if (end === undefined) logger.error({ err: error, turn_id: turnId, generation }, 'turn failed unexpectedly');
      done = end ?? unexpected(writer.text);
      errorCause = causeCode(error);
    } finally {
      clearTimeout(timer);
      writer.end();
    }
    if (contextFactor !== undefined) done.contextFactor = contextFactor;
    const { outcome, errorCode } = done;
    logger.info({ turn_id: turnId, generation, outcome, error_code: errorCode, error_cause: errorCause }, 'turn ended');
    return done;
  };
}
