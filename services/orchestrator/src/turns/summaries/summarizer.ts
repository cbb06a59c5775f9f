import { randomUUIDv7 } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { MESSAGE_ERRORS } from '@uswarm/contract';
import { estimateTokens } from '@uswarm/service-kit';
import { SummarizeRequestSchema, SummaryKind, type SummarizeResponse } from '@uswarm/runtime-proto';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { ModelCatalog } from '../../platform/core/models.js';
import type { ModelTokens } from '../model-calls/model-tokens.js';
import type { RuntimeClient } from '../../runtimes/runtime-client.js';
import { maxMessagesOf, summarizedBytes, summaryTokens, wholeMessages, windowOf } from '../request/summary-need.js';
import { toAgent, toHistory, toLimits } from '../request/turn-request.js';
import type { TurnMetrics } from '../turn-metrics.js';
import type { TurnStep } from '../../metering/reservations.store.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import type { SummarizedConversation, SummarizedMessage, WholeMessages } from './summaries.store.js';
import type * as runtimeRecords from '../../records/runtimes.store.js';
import type * as agentRecords from '../../records/agents.store.js';
import type * as summaryRecords from './summaries.store.js';
import type * as turnRecords from '../turns.store.js';
import type * as reservationRecords from '../../metering/reservations.store.js';

/** Such runtimes write summaries and titles. */
const FEATURE = 'summarize.1';
/** The cheapest model in the catalogue. */
const MODEL = 'flash';

/** The runtime enforces it. */
const TITLE_TOKENS = 1_000;
/** Tokens for the instructions, and for a message's author. */
const INSTRUCTION_TOKENS = 600;
const AUTHOR_TOKENS = 30;
/** The runtime did not call a model. */
const NOT_CALLED: ReadonlySet<Code> = new Set([Code.FailedPrecondition, Code.InvalidArgument, Code.Unimplemented]);

const KINDS = { summary: SummaryKind.SUMMARY, title: SummaryKind.TITLE } as const;
type Kind = keyof typeof KINDS;

export interface SummarizerDeps {
  database: Database;
  runtimes: Pick<typeof runtimeRecords, 'getRuntime'>;
  client: Pick<RuntimeClient, 'identify' | 'summarize'>;
  agents: Pick<typeof agentRecords, 'listMembers'>;
  users: Pick<typeof summaryRecords, 'lockUserOfSummary'>;
  turns: Pick<typeof turnRecords, 'recordCall' | 'findNextStep' | 'lockTurn'>;
  withTransaction: WithTransaction;
  limits: Pick<UsageLimits, 'reached'>;
  reservations: Pick<typeof reservationRecords, 'lockReservations' | 'insertReservation' | 'releaseReservation'>;
  models: Pick<ModelCatalog, 'provider' | 'limits' | 'price' | 'subAgentModel'>;
  modelTokens: ModelTokens;
  metrics: Pick<TurnMetrics, 'used'>;
}

export interface Summarized {
  text: string;
  usage: SummarizeResponse['usage'];
  /** Counts until the usage is recorded. */
  reserved: TurnStep;
}

interface SummaryInput {
  previous: string;
  messages: readonly SummarizedMessage[];
  /** Default: enough for a title. */
  maxOutputTokens?: number;
}

/** Room in the windows of the answering agent and of the summarizing model. */
export interface SummaryRoom {
  whole: WholeMessages;
  /** Message bytes in one request. */
  messageBytes: number;
  maxOutputTokens: number;
}

export interface Summarizer {
  /** @returns undefined if the runtime is not running or writes no summaries */
  room(conversation: SummarizedConversation, signal: AbortSignal): Promise<SummaryRoom | undefined>;
  /**
   * Asks the conversation's runtime for a text. The estimated tokens count from before the call, unless the model
   * gateway counts it: they keep counting if the runtime or this process is lost.
   *
   * @returns undefined if the runtime is not running or writes no summaries, or if the token limit is reached
   * @throws ConnectError if the call failed
   */
  write(
    kind: Kind,
    conversation: SummarizedConversation,
    input: SummaryInput,
    signal: AbortSignal,
  ): Promise<Summarized | undefined>;
  /**
   * Replaces the estimate by the reported usage, for the conversation's last turn, unless the model gateway counts its
   * calls.
   */
  record(
    kind: Kind,
    conversation: SummarizedConversation,
    written: Pick<Summarized, 'usage' | 'reserved'>,
    db: Database,
  ): Promise<void>;
}

/** The runtime cuts what exceeds the context window. Pure. */
function estimatePrompt({ previous, messages }: SummaryInput, contextWindow = Number.MAX_SAFE_INTEGER): number {
  const tokens = messages.reduce(
    (sum, { text }) => sum + AUTHOR_TOKENS + estimateTokens(text),
    INSTRUCTION_TOKENS + estimateTokens(previous),
  );
  return Math.min(Math.ceil(tokens), contextWindow);
}

/** True if the runtime reports that no tokens were used. A lost runtime reports nothing. */
const usedNothing = (error: unknown): boolean =>
  error instanceof ConnectError && (NOT_CALLED.has(error.code) || error.rawMessage in MESSAGE_ERRORS);

export function createSummarizer(deps: SummarizerDeps): Summarizer {
  const { withTransaction, reservations } = deps;

  /** @returns undefined if the token limit is reached */
  function reserve(kind: Kind, conversation: SummarizedConversation, input: SummaryInput) {
    const { userId, workspaceId, usageTurnId, agentId, conversationId } = conversation;
    // A separate row: a turn that is continued meanwhile numbers its steps itself.
    const reserved: TurnStep = { usageTurnId: randomUUIDv7(), step: 1 };
    const { provider } = deps.models;
    const attempt = {
      ...reserved,
      userId,
      workspaceId,
      agentId,
      conversationId,
      kind,
      provider,
      meteredTurnId: usageTurnId,
      ...deps.models.price(MODEL, provider),
      model: MODEL,
      promptTokens: estimatePrompt(input, deps.models.limits(MODEL)?.context_window),
      maxOutputTokens: input.maxOutputTokens ?? TITLE_TOKENS,
    };
    return withTransaction(async (tx) => {
      await reservations.lockReservations(tx, userId);
      if ((await deps.limits.reached(workspaceId, tx)) !== undefined) return undefined;
      await reservations.insertReservation(tx, attempt);
      return reserved;
    });
  }

  /** @returns undefined if the runtime is not running or writes no summaries */
  async function runtimeOf(workspaceId: string, signal: AbortSignal) {
    const runtime = await deps.runtimes.getRuntime(deps.database, workspaceId);
    if (runtime?.phase !== 'Ready' || runtime.address === null) return undefined;
    const target = { workspaceId, address: runtime.address };
    const { features, windows } = await deps.client.identify(target, signal);
    return features.includes(FEATURE) ? { target, windows, maxMessages: maxMessagesOf(features) } : undefined;
  }

  return {
    async room({ workspaceId, model: setting, kind }, signal) {
      const runtime = await runtimeOf(workspaceId, signal);
      if (runtime === undefined) return undefined;
      const { models } = deps;
      const model = setting ?? (kind === 'sub-agent' ? models.subAgentModel : null);
      const reader = windowOf(models.limits(model), model, runtime.windows);
      const maxOutputTokens = summaryTokens(reader);
      const { tokens } = windowOf(models.limits(MODEL), MODEL, runtime.windows);
      return {
        whole: wholeMessages(reader, runtime.maxMessages),
        messageBytes: summarizedBytes({ tokens, maxOutputTokens }),
        maxOutputTokens,
      };
    },

    async write(kind, conversation, input, signal) {
      const { workspaceId, agentId, turnId, language } = conversation;
      const { previous, messages, maxOutputTokens = TITLE_TOKENS } = input;
      const target = (await runtimeOf(workspaceId, signal))?.target;
      if (target === undefined) return undefined;
      const limits = deps.models.limits(MODEL);
      const members = await deps.agents.listMembers(deps.database, workspaceId);
      const request = create(SummarizeRequestSchema, {
        kind: KINDS[kind],
        model: MODEL,
        ...(limits === undefined ? {} : { limits: toLimits(limits) }),
        previous,
        history: messages.map((row) => toHistory(row)),
        agents: members.map(toAgent),
        language,
        maxOutputTokens,
        modelToken: await deps.modelTokens({ workspaceId, agentId, turnId, purpose: 'summary' }),
      });
      const reserved = await reserve(kind, conversation, input);
      if (reserved === undefined) return undefined;
      try {
        const { text, usage } = await deps.client.summarize(target, request, signal);
        return { text, usage, reserved };
      } catch (error) {
        if (usedNothing(error)) await withTransaction((tx) => reservations.releaseReservation(tx, reserved));
        if (error instanceof ConnectError && error.code === Code.Unimplemented) return undefined;
        throw error;
      }
    },

    async record(kind, { turnId, userId, workspaceId, conversationId, agentId }, { usage, reserved }, db) {
      // Deleting an account deletes its usage, and nothing would delete this row later.
      if (!(await deps.users.lockUserOfSummary(db, userId))) return;
      if (usage.length > 0) await reservations.releaseReservation(db, reserved);
      // A summary and a title may be recorded for the same turn concurrently.
      await deps.turns.lockTurn(db, turnId);
      let step = await deps.turns.findNextStep(db, turnId);
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
        const counted = await deps.turns.recordCall(db, entry);
        if (counted !== undefined) deps.metrics.used({ ...entry, ...counted });
        step += 1;
      }
    },
  };
}
