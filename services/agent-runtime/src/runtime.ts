import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { AgentRuntime, health } from '@uswarm/runtime-proto';
import type { CloseStack, Logger } from '@uswarm/service-kit';
import { createAgentLoop, REDUCED } from './agent/run-turn.js';
import { createSummarizer } from './agent/summarize.js';
import type { RuntimeConfig } from './config.js';
import { createModelContexts } from './context/model-context.js';
import { watchIdle } from './idle-watch.js';
import { createProvider } from './models/providers.js';
import { warnOfUnreadableCalls } from './models/unreadable-calls.js';
import { agentRuntimeRoutes } from './rpc/agent-runtime.routes.js';
import { createBinding } from './rpc/binding.js';
import { requireCallToken } from './rpc/call-token.js';
import { createHealth } from './rpc/health.js';
import { listenHttp2 } from './rpc/http2-server.js';
import { collectStartupGarbage } from './startup-garbage.js';
import { lazyTools } from './tools/lazy-tools.js';
import { noTools } from './tools/tool.js';
import { createTurnRegistry } from './turns/turn-registry.js';

/** A request with the largest journal and the most files. */
const READ_BYTES = 26 * 1024 * 1024;
/** An event with the largest journal entry. */
const WRITE_BYTES = 8 * 1024 * 1024;

/** Share of the grace period that is reserved for closing connections. */
const CLOSING_MS = 2_000;
const CONNECTION_GRACE_MS = 1_000;

const SUMMARIZE = 'summarize.1';
/**
 * Optional protocol parts. `skills.1`: long prompts are sent as skill documents. `summarize.1`: `Summarize`.
 * `retract.1`: chunks can retract text. `model-token.1`: model gateway calls have the turn's token. `journal.1`: turns
 * are journaled and continue from a journal. `tools.1`: tools that the orchestrator executes on request. `journal.2`:
 * entries can be large, have what is committed with them, and feed later turns. `budget.1`: requests to a provider are
 * announced, and a turn can be suspended because of its budget. `tool-grants.1`: tool calls are announced, and each has
 * its own token. `files.1`: messages have files, and outcomes have pictures. `long-history.1`: histories have up to 1,000 messages, and `Identify` reports windows.
 */
const FEATURES = [
  'skills.1',
  SUMMARIZE,
  'retract.1',
  'model-token.1',
  'journal.1',
  'tools.1',
  'journal.2',
  'budget.1',
  'tool-grants.1',
  'files.1',
  'long-history.1',
  'steer.1',
];

/** The demo model cannot summarize: it only repeats. */
const featuresOf = (provider: string): string[] =>
  FEATURES.filter((feature) => feature !== SUMMARIZE || provider !== 'demo');

const packageJson = new URL('../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string };

export interface RuntimeDeps {
  config: RuntimeConfig;
  logger: Logger;
  stack: CloseStack;
  /** Called once after `config.idleExitMs` without activity, counted from when the runtime is bound. */
  onIdle: () => void;
  /** Called once, when a runtime from a pool is bound. */
  onBound?: () => void;
}

/** Starts the runtime of one workspace, or of a pool; `stack` stops it. @throws the listen error */
export async function startRuntime(deps: RuntimeDeps): Promise<{ port: number }> {
  const { config, logger, stack, onIdle, onBound } = deps;
  const { callPublicKey: publicKey, poolMember, host, port, mcp, idleExitMs, graceMs } = config;
  const mcpTools =
    mcp === undefined
      ? undefined
      : lazyTools(async () => (await import('./tools/mcp.js')).createMcpTools({ ...mcp, version, logger }));
  if (mcpTools !== undefined) stack.defer('tool server connection', () => mcpTools.close());

  const provider = createProvider(config.provider, config.modelVariables, {
    onLearned: (learned) => logger.warn(learned, 'the model server refuses a part of requests, which is left out'),
  });
  const model = warnOfUnreadableCalls(provider, logger);
  const contexts = createModelContexts();
  const limits = {
    contextWindow: config.modelVariables.USWARM_MODEL_CONTEXT_WINDOW,
    maxOutputTokens: config.modelVariables.USWARM_MODEL_OUTPUT_LIMIT,
  };
  const turns = createTurnRegistry({
    run: createAgentLoop({ model, tools: mcpTools ?? { forTurn: () => noTools }, logger, limits, contexts }),
    onError: (error, { turnId, generation }) =>
      logger.error({ err: error, turn_id: turnId, generation }, 'turn runner failed'),
  });

  const summarize = createSummarizer({
    model,
    limits,
    contexts,
    onReduced: (reduction) => logger.warn(reduction, REDUCED),
  });

  const binding = createBinding({
    workspaceId: config.workspaceId,
    onBound(workspaceId) {
      logger.info({ workspace_id: workspaceId }, 'bound');
      onBound?.();
    },
  });
  let lastCall = performance.now();
  const onCall = (): void => void (lastCall = performance.now());
  const requestGate = requireCallToken({ publicKey, poolMember, binding, onCall });
  const quietMs = (): number => Math.min(turns.idleMs(), performance.now() - lastCall);
  const idleMs = (): number => (binding.workspaceId() === undefined ? 0 : quietMs());
  const healthState = createHealth();
  const identity = { version, instanceId: randomUUID(), features: featuresOf(config.provider) };
  const identify = () => ({
    ...identity,
    workspaceId: binding.workspaceId() ?? '',
    contextWindow: limits.contextWindow ?? 0,
    windows: contexts.windows(),
  });
  const server = await listenHttp2(
    connectNodeAdapter({
      readMaxBytes: READ_BYTES,
      writeMaxBytes: WRITE_BYTES,
      routes: (router) =>
        router
          .service(AgentRuntime, agentRuntimeRoutes({ turns, summarize, identify, bind: binding.bind }), {
            requestGate,
          })
          .service(health.Health, healthState.routes, { readMaxBytes: 1024 }),
    }),
    { host, port },
  );

  // Closed in reverse order: no new turns, then running turns finish, then the connections close.
  stack.defer('connections', () => server.close(CONNECTION_GRACE_MS));
  stack.defer('health watches', () => healthState.close());
  stack.defer('turns', () => turns.shutDown(Math.max(0, graceMs - CLOSING_MS)));
  stack.defer('health', () => healthState.stopServing());
  stack.defer('startup garbage', collectStartupGarbage({ quietMs }));
  if (idleExitMs > 0) stack.defer('idle watch', watchIdle({ limitMs: idleExitMs, quietMs: idleMs, onIdle }));
  // Its first turn must not wait for code. A workspace's own runtime may get no turn.
  if (poolMember !== undefined) void Promise.all([model.prepare?.(), mcpTools?.prepare()]).catch(() => undefined);
  const served = poolMember === undefined ? { workspace_id: binding.workspaceId() } : { pool_member: poolMember };
  logger.info({ port: server.port, provider: model.provider, ...served }, 'listening');
  return { port: server.port };
}
