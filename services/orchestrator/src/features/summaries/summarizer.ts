import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { SummarizeRequestSchema, SummaryKind, type SummarizeResponse } from '@uswarm/runtime-proto';
import type { Database } from '../../database/database.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { ModelCatalog } from '../core/models.js';
import type { ModelTokens } from '../model-calls/model-tokens.js';
import type { RuntimeClient } from '../runtimes/runtime-client.js';
import type { RuntimeStore } from '../runtimes/runtimes.store.js';
import { toAgent, toHistory, toLimits } from '../turns/turn-request.js';
import type { TurnMetrics } from '../turns/turn-metrics.js';
import type { TurnStore } from '../turns/turns.store.js';
import type { UsageLimits } from '../usage/usage-limits.js';
import type { SummarizedConversation, SummarizedMessage } from './summaries.store.js';

/** Runtimes with this feature write summaries and titles. */
const FEATURE = 'summarize.1';
/** The cheapest model of the catalogue. */
const MODEL = 'flash';

const KINDS = { summary: SummaryKind.SUMMARY, title: SummaryKind.TITLE } as const;
type Kind = keyof typeof KINDS;

export interface SummarizerDeps {
  runtimes: Pick<RuntimeStore, 'get'>;
  client: Pick<RuntimeClient, 'identify' | 'summarize'>;
  agents: Pick<AgentStore, 'members'>;
  turns: Pick<TurnStore, 'lock' | 'nextStep' | 'recordUsage'>;
  limits: Pick<UsageLimits, 'reached'>;
  models: Pick<ModelCatalog, 'limits' | 'price'>;
  modelTokens: ModelTokens;
  metrics: Pick<TurnMetrics, 'used'>;
}

export interface Summarized {
  text: string;
  usage: SummarizeResponse['usage'];
}

export interface Summarizer {
  /**
   * Asks the runtime of the conversation for a text.
   *
   * @returns undefined if the runtime is not running or writes no summaries, or if the token limit is reached
   * @throws ConnectError if the call failed
   */
  write(
    kind: Kind,
    conversation: SummarizedConversation,
    input: { previous: string; messages: readonly SummarizedMessage[] },
    signal: AbortSignal,
  ): Promise<Summarized | undefined>;
  /** Records the usage for the last turn of the conversation, unless the model gateway counts its calls. */
  record(kind: Kind, conversation: SummarizedConversation, usage: Summarized['usage'], db: Database): Promise<void>;
}

export function createSummarizer(deps: SummarizerDeps): Summarizer {
  return {
    async write(kind, { workspaceId, agentId, turnId, language }, { previous, messages }, signal) {
      const runtime = await deps.runtimes.get(workspaceId);
      if (runtime?.phase !== 'Ready' || runtime.address === null) return undefined;
      if ((await deps.limits.reached(workspaceId)) !== undefined) return undefined;
      const target = { workspaceId, address: runtime.address };
      const { features } = await deps.client.identify(target, signal);
      if (!features.includes(FEATURE)) return undefined;
      const limits = deps.models.limits(MODEL);
      const members = await deps.agents.members(workspaceId);
      const request = create(SummarizeRequestSchema, {
        kind: KINDS[kind],
        model: MODEL,
        ...(limits === undefined ? {} : { limits: toLimits(limits) }),
        previous,
        history: messages.map(toHistory),
        agents: members.map(toAgent),
        language,
        modelToken: await deps.modelTokens({ workspaceId, agentId, turnId, purpose: 'summary' }),
      });
      try {
        return await deps.client.summarize(target, request, signal);
      } catch (error) {
        if (error instanceof ConnectError && error.code === Code.Unimplemented) return undefined;
        throw error;
      }
    },

    async record(kind, { turnId, userId, workspaceId, conversationId, agentId }, usage, db) {
      // A summary and a title may be recorded for the same turn concurrently.
      await deps.turns.lock(turnId, db);
      let step = await deps.turns.nextStep(turnId, db);
      for (const {
        provider,
        model,
        promptTokens,
        completionTokens,
        cachedTokens,
        reasoningTokens,
        estimated,
      } of usage) {
        const entry = {
          turnId,
          userId,
          workspaceId,
          conversationId,
          agentId,
          step,
          kind,
          provider,
          model,
          promptTokens: Number(promptTokens),
          completionTokens: Number(completionTokens),
          cachedTokens: Number(cachedTokens),
          reasoningTokens: Number(reasoningTokens),
          estimated,
          ...deps.models.price(MODEL, provider),
        };
        const counted = await deps.turns.recordUsage(entry, db);
        if (counted !== undefined) deps.metrics.used({ ...entry, ...counted });
        step += 1;
      }
    },
  };
}
