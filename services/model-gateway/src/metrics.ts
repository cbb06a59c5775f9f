import { initializedCounter, readGauge, type Registry } from '@uswarm/service-kit';
import { Counter, Histogram } from 'prom-client';
import type { ModelCallTerms, ModelCallUsage } from '@uswarm/contract';
import { GATEWAY_ERRORS } from './gateway-error.js';
import { CONNECTED_PROVIDERS } from '@uswarm/contract/providers';

/** Outcome: `completed`, `cut`, `provider_error`, or a GatewayError's code. */
export type CallResult = (typeof RESULTS)[number];
const RESULTS = ['completed', 'cut', 'provider_error', 'internal_error', ...GATEWAY_ERRORS] as const;

/** A finished call that was sent to a provider. */
export interface MeasuredCall {
  /** Default: `chat`. */
  operation?: 'chat' | 'transcription';
  provider: string;
  /** The name at the provider; configuration defines the names, so the number of series is bounded. */
  model: string;
  seconds: number;
  /** Empty for a completed call. */
  error: string;
  /** Undefined if the provider counted nothing. */
  usage: Pick<ModelCallUsage, 'prompt_tokens' | 'completion_tokens' | 'cached_tokens'> | undefined;
  terms: ModelCallTerms;
}

export interface ModelGatewayMetrics {
  ended(provider: string, result: CallResult): void;
  measured(call: MeasuredCall): void;
  firstByte(call: { provider: string; model: string; seconds: number }): void;
  /** A runtime repeats a failed call. */
  retried(provider: string): void;
  settlementLost(): void;
  /** Registers the gauge of calls that wait for their settlement. */
  watchPending(read: () => number): void;
}

const DURATION_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
const FIRST_BYTE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 80];
const TOKEN_BUCKETS = [1, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];

/** Context window shares. */
const SHARE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1];

const CALL_LABELS = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

/** Call metrics are named by the OpenTelemetry semantic conventions for generative AI. */
export function createModelGatewayMetrics(registry: Registry): ModelGatewayMetrics {
  const ends = initializedCounter(registry, 'uswarm_model_gateway_calls_total', 'Total model calls by result.', {
    provider: [...CONNECTED_PROVIDERS, 'none'],
    result: RESULTS,
  });
  const lost = new Counter({
    name: 'uswarm_model_gateway_settlements_lost_total',
    help: 'Total model calls that keep their estimated usage, because the orchestrator was unavailable for too long.',
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of a model call in seconds.',
    labelNames: [...CALL_LABELS, 'error_type'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const firstByte = new Histogram({
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from the request of a model call to the first part of its response in seconds.',
    labelNames: CALL_LABELS,
    buckets: FIRST_BYTE_BUCKETS,
    registers: [registry],
  });
  const tokens = new Histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a model call by type.',
    labelNames: [...CALL_LABELS, 'gen_ai_token_type'],
    buckets: TOKEN_BUCKETS,
    registers: [registry],
  });
  const contextUsed = new Histogram({
    name: 'uswarm_model_gateway_context_used_ratio',
    help: 'Prompt tokens of a model call as a share of the context window of the model, if the catalogue has it.',
    labelNames: CALL_LABELS,
    buckets: SHARE_BUCKETS,
    registers: [registry],
  });
  const cost = new Counter({
    name: 'uswarm_model_gateway_cost_total',
    help: 'Total cost of model calls by the prices of the catalogue, in its currency. Calls of models without a price are missing.',
    labelNames: CALL_LABELS,
    registers: [registry],
  });
  const retries = initializedCounter(registry, 'uswarm_model_gateway_retries_total', 'Total repeated model calls.', {
    provider: CONNECTED_PROVIDERS,
  });
  const labels = ({ operation = 'chat', provider, model }: Pick<MeasuredCall, 'operation' | 'provider' | 'model'>) => ({
    gen_ai_operation_name: operation,
    gen_ai_provider_name: provider,
    gen_ai_request_model: model,
  });
  return {
    ended: (provider, result) => ends.inc({ provider, result }),
    measured(call) {
      duration.observe({ ...labels(call), error_type: call.error }, call.seconds);
      const { usage, terms } = call;
      if (usage === undefined) return;
      tokens.observe({ ...labels(call), gen_ai_token_type: 'input' }, usage.prompt_tokens);
      tokens.observe({ ...labels(call), gen_ai_token_type: 'output' }, usage.completion_tokens);
      if (terms.context_window !== null) contextUsed.observe(labels(call), usage.prompt_tokens / terms.context_window);
      if (terms.prices !== null) cost.inc(labels(call), costOf(usage, terms.prices));
    },
    firstByte: (call) => firstByte.observe(labels(call), call.seconds),
    retried: (provider) => retries.inc({ provider }),
    settlementLost: () => lost.inc(),
    watchPending: (read) =>
      readGauge(
        registry,
        'uswarm_model_gateway_settlements_pending',
        'Model calls whose usage the orchestrator does not know yet.',
        read,
      ),
  };
}

/** In currency units: prices are micro-units per million tokens. */
function costOf(
  { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion }: NonNullable<MeasuredCall['usage']>,
  prices: NonNullable<ModelCallTerms['prices']>,
): number {
  const read = Math.min(cached, prompt);
  return ((prompt - read) * prices.input + read * prices.cached_input + completion * prices.output) / 1e12;
}
