import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { AgentRuntime } from '@uswarm/runtime-proto';
import { type TurnRefusal, TurnRefused } from '../turns/turn-end.js';
import type { TurnRegistry } from '../turns/turn-registry.js';
import { validateTurn } from './validate-turn.js';

const CODES: Readonly<Record<TurnRefusal, Code>> = {
  not_found: Code.NotFound,
  superseded: Code.FailedPrecondition,
  beyond_the_end: Code.OutOfRange,
  too_many_turns: Code.ResourceExhausted,
  shutting_down: Code.Unavailable,
};

function toConnectError(error: unknown): unknown {
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
  identity: { workspaceId: string; version: string; instanceId: string };
}

/** The gRPC methods for the orchestrator. */
export function agentRuntimeRoutes({ turns, identity }: AgentRuntimeDeps): ServiceImpl<typeof AgentRuntime> {
  return {
    identify() {
      // The caller is about to start a turn. Behind a Service, another connection reaches the next pod.
      if (turns.shuttingDown()) throw toConnectError(new TurnRefused('shutting_down'));
      return identity;
    },
    async *runTurn(request, { signal }) {
      validateTurn(request);
      try {
        yield* turns.follow(request, signal);
      } catch (error) {
        throw toConnectError(error);
      }
    },
    stopTurn: ({ turnId, generation }) => answer(() => turns.stop(turnId, generation)),
    renewToolToken: ({ turnId, generation, toolToken }) =>
      answer(() => turns.renewToolToken(turnId, generation, toolToken)),
    status() {
      const running = turns.running();
      return { busy: running.length > 0, turns: running, idleMs: BigInt(Math.floor(turns.idleMs())) };
    },
  };
}
