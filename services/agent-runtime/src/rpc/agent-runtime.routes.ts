import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { AgentRuntime, IdentifyResponseSchema } from '@uswarm/runtime-proto';
import type { Summarize } from '../agent/summarize.js';
import { ModelError, type ModelErrorCode } from '../models/port.js';
import { type TurnRefusal, TurnRefused } from '../turns/turn-end.js';
import type { TurnRegistry } from '../turns/turn-registry.js';
import { validateSummarize, validateTurn } from './validate-turn.js';

const CODES: Readonly<Record<TurnRefusal, Code>> = {
  not_found: Code.NotFound,
  superseded: Code.FailedPrecondition,
  beyond_the_end: Code.OutOfRange,
  too_many_turns: Code.ResourceExhausted,
  shutting_down: Code.Unavailable,
};

const MODEL_CODES: Readonly<Record<ModelErrorCode, Code>> = {
  model_rate_limited: Code.ResourceExhausted,
  model_refused: Code.FailedPrecondition,
  model_rejected: Code.FailedPrecondition,
  model_timeout: Code.DeadlineExceeded,
  model_unavailable: Code.Unavailable,
  token_limit_reached: Code.ResourceExhausted,
};

function toConnectError(error: unknown): unknown {
  if (error instanceof ModelError) return new ConnectError(error.code, MODEL_CODES[error.code]);
  return error instanceof TurnRefused ? new ConnectError(error.message, CODES[error.refusal]) : error;
}

/** Runs a call on an existing turn and maps rejections to gRPC codes. */
function answer(act: () => void): Record<string, never> {
  try {
    act();
    return {};
  } catch (error) {
    throw toConnectError(error);
  }
}

export interface AgentRuntimeDeps {
  turns: TurnRegistry;
  summarize: Summarize;
  identify: () => MessageInitShape<typeof IdentifyResponseSchema>;
  bind: (workspaceId: string) => void;
}

/** The gRPC methods for the orchestrator. */
export function agentRuntimeRoutes(deps: AgentRuntimeDeps): ServiceImpl<typeof AgentRuntime> {
  const { turns, summarize, identify, bind } = deps;
  return {
    identify() {
      // The caller is about to start a turn. Behind a Service, another connection reaches the next pod.
      if (turns.shuttingDown()) throw toConnectError(new TurnRefused('shutting_down'));
      return identify();
    },
    bind: ({ workspaceId }) => answer(() => bind(workspaceId)),
    async *runTurn(request, { signal }) {
      validateTurn(request);
      try {
        yield* turns.follow(request, signal);
      } catch (error) {
        throw toConnectError(error);
      }
    },
    stopTurn: ({ turnId, generation }) => answer(() => turns.stop(turnId, generation)),
    async *advance(requests) {
      for await (const { turnId, generation, committedThrough, resolutions, steering } of requests) {
        const commit = { committedThrough: Number(committedThrough), resolutions, steering };
        yield answer(() => turns.advance(turnId, generation, commit));
      }
    },
    renewToolToken: ({ turnId, generation, toolToken, modelToken }) =>
      answer(() => turns.renewTokens(turnId, generation, { toolToken, modelToken })),
    async summarize(request, { signal }) {
      validateSummarize(request);
      try {
        return await summarize(request, signal);
      } catch (error) {
        throw toConnectError(error);
      }
    },
    status() {
      const running = turns.running();
      return { busy: running.length > 0, turns: running, idleMs: BigInt(Math.floor(turns.idleMs())) };
    },
  };
}
