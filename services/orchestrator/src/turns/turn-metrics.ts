import { MESSAGE_ERROR_CODES } from '@uswarm/contract';
import { MODEL_PROVIDERS } from '@uswarm/contract/providers';
import { type Clock, initializedCounter, boundedLabel, type Registry } from '@uswarm/service-kit';
import { Histogram } from 'prom-client';
import type { TurnStatus } from '../platform/database/schema.js';
import { type Refusal, REFUSALS } from './content/reply-limit.js';
import { MODEL_IDS } from '../platform/core/models.js';
import type { CountedCall } from '../records/usage-rows.js';
import type { UsageEntry } from '../records/usage-rows.js';
import type { TurnRow } from './turns.store.js';

type Ended = Exclude<TurnStatus, 'queued' | 'running'>;

/** Updated after each commit. */
export interface TurnMetrics {
  begun(turn: Pick<TurnRow, 'created_at'>): void;
  ended(turn: Pick<TurnRow, 'created_at'>, how: { turnStatus: Ended; errorCode: string | null }): void;
  /** The turn released its worker until the model provider accepts requests again. */
  postponed(): void;
  used(usage: CountedCall & Pick<UsageEntry, 'promptTokens' | 'completionTokens'>): void;
  toolEnded(tool: string, outcome: 'completed' | 'failed' | 'unknown'): void;
  refused(reason: Refusal): void;
  /** The runtime sent only this part of the conversation, because the model server had refused the whole. */
  contextReduced(modelId: string | null, factor: number): void;
  /** A turn has used its budget, or the user has decided about it. */
  budget(outcome: 'asked' | 'continued' | 'stopped'): void;
}

export interface TurnMetricsDeps {
  /** Known tools. Other names share one label. */
  tools: readonly string[];
  clock: Clock;
}

const OTHER = 'other';
const STATUSES = ['done', 'failed', 'stopped'] as const satisfies Ended[];
const REASONS: string[] = MESSAGE_ERROR_CODES.filter((code) => code !== 'stopped' && code !== 'withdrawn');
const PROVIDERS: string[] = MODEL_PROVIDERS;
const KINDS = ['step', 'summary', 'title', 'transcription'] as const satisfies CountedCall['kind'][];
const PARTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800];

export function createTurnMetrics(registry: Registry, { tools, clock }: TurnMetricsDeps): TurnMetrics {
  const [reasons, providers, models, toolNames] = [
    new Set(REASONS),
    new Set(PROVIDERS),
    new Set(MODEL_IDS),
    new Set(tools),
  ];
  const ends = initializedCounter(registry, 'uswarm_turns_total', 'Total turns by final status.', { status: STATUSES });
  const failures = initializedCounter(registry, 'uswarm_turn_failures_total', 'Total failed turns by reason.', {
    reason: [...REASONS, OTHER],
  });
  const wait = new Histogram({
    name: 'uswarm_turn_wait_seconds',
    help: 'Time from the creation of a turn to its start, including the start of the runtime.',
    buckets: SECONDS,
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'uswarm_turn_duration_seconds',
    help: 'Time from the creation of a turn to its end, by final status.',
    labelNames: ['status'],
    buckets: SECONDS,
    registers: [registry],
  });
  const postponements = initializedCounter(
    registry,
    'uswarm_turn_postponements_total',
    'Total waits of turns without a worker, because the model provider limits requests.',
    {},
  );
  const calls = initializedCounter(registry, 'uswarm_model_calls_total', 'Total model calls with reported usage.', {
    provider: [...PROVIDERS, OTHER],
  });
  const tokens = initializedCounter(
    registry,
    'uswarm_model_tokens_total',
    'Total tokens that model providers reported.',
    {
      provider: [...PROVIDERS, OTHER],
      direction: ['prompt', 'completion'],
    },
  );
  const usageLabels = {
    gen_ai_provider_name: [...PROVIDERS, OTHER],
    gen_ai_request_model: [...MODEL_IDS, OTHER],
    kind: KINDS,
  };
  const usedTokens = initializedCounter(
    registry,
    'uswarm_usage_tokens_total',
    'Total tokens of model calls by the model of the catalogue and by what they were made for.',
    { ...usageLabels, gen_ai_token_type: ['input', 'output'] },
  );
  const usedCost = initializedCounter(
    registry,
    'uswarm_usage_cost_usd_total',
    'Total cost of model calls in US dollars by the prices of the catalogue. Calls of models without a price are missing.',
    usageLabels,
  );
  const toolCalls = initializedCounter(registry, 'uswarm_tool_calls_total', 'Total tool calls by outcome.', {
    tool: [...tools, OTHER],
    outcome: ['completed', 'failed', 'unknown'],
  });
  const refusals = initializedCounter(
    registry,
    'uswarm_runtime_output_refused_total',
    'Total refused parts of the output of runtimes by reason.',
    { reason: [...REFUSALS] },
  );
  const budgets = initializedCounter(
    registry,
    'uswarm_turn_budgets_total',
    'Total turns that used their budget, and decisions of users about them.',
    { outcome: ['asked', 'continued', 'stopped'] },
  );
  const reductions = new Histogram({
    name: 'uswarm_context_reduction_ratio',
    help: 'Part of a prompt that was sent after the model server had refused a larger one for its size, by model.',
    labelNames: ['gen_ai_request_model'],
    buckets: PARTS,
    registers: [registry],
  });
  for (const status of STATUSES) duration.zero({ status });
  for (const model of usageLabels.gen_ai_request_model) reductions.zero({ gen_ai_request_model: model });

  const since = ({ created_at }: Pick<TurnRow, 'created_at'>): number =>
    Math.max(0, clock.now().getTime() - created_at.getTime()) / 1_000;
  return {
    begun: (turn) => wait.observe(since(turn)),
    ended(turn, { turnStatus, errorCode }) {
      ends.inc({ status: turnStatus });
      duration.observe({ status: turnStatus }, since(turn));
      if (turnStatus === 'failed') failures.inc({ reason: boundedLabel(reasons, errorCode ?? 'internal_error') });
    },
    postponed: () => postponements.inc(),
    used({ provider: name, modelId, kind, costMicros, promptTokens, completionTokens }) {
      const provider = boundedLabel(providers, name);
      calls.inc({ provider });
      tokens.inc({ provider, direction: 'prompt' }, promptTokens);
      tokens.inc({ provider, direction: 'completion' }, completionTokens);
      const model = boundedLabel(models, modelId ?? OTHER);
      const labels = { gen_ai_provider_name: provider, gen_ai_request_model: model, kind };
      usedTokens.inc({ ...labels, gen_ai_token_type: 'input' }, promptTokens);
      usedTokens.inc({ ...labels, gen_ai_token_type: 'output' }, completionTokens);
      if (costMicros !== null) usedCost.inc(labels, costMicros / 1e6);
    },
    refused: (reason) => refusals.inc({ reason }),
    contextReduced: (modelId, factor) =>
      reductions.observe({ gen_ai_request_model: boundedLabel(models, modelId ?? OTHER) }, factor),
    toolEnded: (tool, outcome) => toolCalls.inc({ tool: boundedLabel(toolNames, tool), outcome }),
    budget: (outcome) => budgets.inc({ outcome }),
  };
}
