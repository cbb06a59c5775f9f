import { create } from '@bufbuild/protobuf';
import { type Done, type Resolution, RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import { createAgentLoop, type AgentLoopDeps } from '../src/agent/run-turn.js';
import { createModelPort } from '../src/models/model-port.js';
import type { ModelPort } from '../src/models/port.js';
import { createAnthropicAdapter } from '../src/models/providers/anthropic.js';
import { createOpenAiCompatible } from '../src/models/providers/openai-compatible.js';
import { noTools, type ToolSource } from '../src/tools/tool.js';
import type { WatchdogLimits } from '../src/models/watchdog.js';
import type { TurnEventBody } from '../src/turns/turn-events.js';
import { noToolRequests } from './scripted-turn.js';

export type Provider = 'openai' | 'anthropic';

export const PROVIDERS: Provider[] = ['openai', 'anthropic'];

const LIMITS = { firstByteMs: 60_000, betweenBytesMs: 60_000, totalMs: 120_000 };

/** A model port for a test server, which does not wait before retries. */
export function portOf(provider: Provider, baseUrl: string, limits: WatchdogLimits = LIMITS): ModelPort {
  const names = { byId: {}, fallback: 'scripted', variable: 'MODEL' };
  const deps = { slug: provider, baseUrl, apiKey: 'key', names };
  const adapter = provider === 'openai' ? createOpenAiCompatible(deps) : createAnthropicAdapter(deps);
  return createModelPort({ adapter, limits, wait: () => Promise.resolve() });
}

/** Runs turns with a model port; text becomes chunks immediately. */
export function turnsWith(
  model: ModelPort,
  limits: NonNullable<AgentLoopDeps['limits']> = {},
  source: ToolSource = noTools,
  logger: AgentLoopDeps['logger'] = silentLogger,
) {
  const schedule = (task: () => void): (() => void) => {
    task();
    return () => undefined;
  };
  const tools = { forTurn: () => source };
  const runner = createAgentLoop({ model, tools, logger, limits, schedule });
  return async (
    request: Parameters<typeof create<typeof RunTurnRequestSchema>>[1],
    {
      signal = new AbortController().signal,
      onEvent,
      resolution = noToolRequests,
    }: {
      signal?: AbortSignal;
      onEvent?: (event: TurnEventBody) => void;
      resolution?: (callId: string) => Promise<Resolution>;
    } = {},
  ): Promise<{ done: Done; events: TurnEventBody[] }> => {
    const events: TurnEventBody[] = [];
    const emit = (event: TurnEventBody): void => {
      events.push(event);
      onEvent?.(event);
    };
    const context = {
      emit,
      signal,
      committed: async () => undefined,
      resolution,
      decision: resolution,
      steering: () => [],
      toolToken: () => undefined,
      modelToken: () => undefined,
    };
    const done = await runner(create(RunTurnRequestSchema, request), context);
    return { done, events };
  };
}
