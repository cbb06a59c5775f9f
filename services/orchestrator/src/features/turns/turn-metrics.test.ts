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

  it('count model calls and tokens', async () => {
    const { metrics, lines } = setUp();
    metrics.used({ provider: 'openai', promptTokens: 10, completionTokens: 5 });
    metrics.used({ provider: 'openai', promptTokens: 1, completionTokens: 1 });
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'uswarm_model_calls_total{provider="openai"} 2',
        'uswarm_model_tokens_total{provider="openai",direction="prompt"} 11',
        'uswarm_model_tokens_total{provider="openai",direction="completion"} 6',
      ]),
    );
  });

  it('create no series for unknown names of a runtime', async () => {
    const { metrics, lines } = setUp();
    const before = (await lines()).length;
    for (const made of ['x1', 'x2', 'x"}']) {
      metrics.ended(turn, { turnStatus: 'failed', errorCode: made });
      metrics.used({ provider: made, promptTokens: 1, completionTokens: 1 });
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
