import { describe, expect, it } from '@jest/globals';
import { Registry } from '@uswarm/service-kit';
import { createTurnMetrics } from './turn-metrics.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const turn = { created_at: new Date(NOW.getTime() - 4_000) };

function setUp() {
  const registry = new Registry();
  const metrics = createTurnMetrics(registry, { tools: ['web_search_tool'], clock: { now: () => NOW } });
  return { metrics, lines: async () => (await registry.metrics()).split('\n') };
}

describe('the turn metrics', () => {
  it('count turns by status and failure reason, and measure their duration', async () => {
    const { metrics, lines } = setUp();
    metrics.begun(turn);
    metrics.ended(turn, { turnStatus: 'done', errorCode: null });
    metrics.ended(turn, { turnStatus: 'failed', errorCode: 'model_timeout' });
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'uswarm_turn_wait_seconds_sum 4',
        'uswarm_turns_total{status="done"} 1',
        'uswarm_turns_total{status="failed"} 1',
        'uswarm_turns_total{status="stopped"} 0',
        'uswarm_turn_failures_total{reason="model_timeout"} 1',
        'uswarm_turn_duration_seconds_sum{status="failed"} 4',
      ]),
    );
  });

  it('invariant 12: count refused output of runtimes by reason', async () => {
    const { metrics, lines } = setUp();
    metrics.refused('usage_out_of_range');
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'uswarm_runtime_output_refused_total{reason="usage_out_of_range"} 1',
        'uswarm_runtime_output_refused_total{reason="tool_not_offered"} 0',
      ]),
    );
  });

  it('measure by model how much of a prompt was sent after refusals for its size', async () => {
    const { metrics, lines } = setUp();
    metrics.contextReduced('opus', 0.5);
    metrics.contextReduced(null, 0.25);
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'uswarm_context_reduction_ratio_sum{gen_ai_request_model="opus"} 0.5',
        'uswarm_context_reduction_ratio_count{gen_ai_request_model="other"} 1',
        'uswarm_context_reduction_ratio_count{gen_ai_request_model="flash"} 0',
      ]),
    );
  });

  it('count model calls, tokens and cost', async () => {
    const { metrics, lines } = setUp();
    const call = { provider: 'openai', modelId: 'opus', kind: 'step' } as const;
    metrics.used({ ...call, costMicros: 1_500_000, promptTokens: 10, completionTokens: 5 });
    metrics.used({ ...call, costMicros: 250_000, promptTokens: 1, completionTokens: 1 });
    metrics.used({
      ...call,
      provider: 'demo',
      modelId: null,
      kind: 'title',
      costMicros: null,
      promptTokens: 7,
      completionTokens: 0,
    });
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'uswarm_model_calls_total{provider="openai"} 2',
        'uswarm_model_tokens_total{provider="openai",direction="prompt"} 11',
        'uswarm_model_tokens_total{provider="openai",direction="completion"} 6',
        'uswarm_usage_tokens_total{gen_ai_provider_name="openai",gen_ai_request_model="opus",kind="step",gen_ai_token_type="input"} 11',
        'uswarm_usage_tokens_total{gen_ai_provider_name="openai",gen_ai_request_model="opus",kind="step",gen_ai_token_type="output"} 6',
        'uswarm_usage_tokens_total{gen_ai_provider_name="demo",gen_ai_request_model="other",kind="title",gen_ai_token_type="input"} 7',
        'uswarm_usage_cost_usd_total{gen_ai_provider_name="openai",gen_ai_request_model="opus",kind="step"} 1.75',
        'uswarm_usage_cost_usd_total{gen_ai_provider_name="demo",gen_ai_request_model="other",kind="title"} 0',
      ]),
    );
  });

  it('create no series for unknown names of a runtime', async () => {
    const { metrics, lines } = setUp();
    const before = (await lines()).length;
    for (const made of ['x1', 'x2', 'x"}']) {
      metrics.ended(turn, { turnStatus: 'failed', errorCode: made });
      const call = { provider: made, modelId: made, kind: 'step', costMicros: 1 } as const;
      metrics.used({ ...call, promptTokens: 1, completionTokens: 1 });
      metrics.toolEnded(made, 'failed');
    }
    const after = await lines();
    expect(after).toHaveLength(before);
    expect(after).toEqual(
      expect.arrayContaining([
        'uswarm_turn_failures_total{reason="other"} 3',
        'uswarm_model_calls_total{provider="other"} 3',
        'uswarm_tool_calls_total{tool="other",outcome="failed"} 3',
      ]),
    );
  });
});
