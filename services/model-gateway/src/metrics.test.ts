import { beforeEach, describe, expect, it } from '@jest/globals';
import { createMetrics, type Registry } from '@uswarm/service-kit';
import { createModelGatewayMetrics, type MeasuredCall, type ModelGatewayMetrics } from './metrics.js';

const PRICES = { input: 3_000_000, cached_input: 300_000, output: 15_000_000 };

let registry: Registry;
let metrics: ModelGatewayMetrics;
beforeEach(() => {
  registry = createMetrics('model-gateway');
  metrics = createModelGatewayMetrics(registry);
});

const measured = (call: Partial<MeasuredCall>): void =>
  metrics.measured({
    provider: 'openai',
    model: 'gpt',
    seconds: 1,
    error: '',
    usage: { prompt_tokens: 1_000, completion_tokens: 200, cached_tokens: 400 },
    terms: { context_window: 4_000, prices: PRICES },
    ...call,
  });

/** Value of the series for these calls. */
const valueOf = async (name: string): Promise<number | undefined> => {
  const line = (await registry.metrics()).split('\n').find((one) => one.startsWith(`${name}{`));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
};

describe('the metrics of model calls', () => {
  it('add up the cost, with cached tokens at their own price', async () => {
    measured({});
    measured({});
    // 600 x 3 + 400 x 0.30 + 200 x 15 per million.
    expect(await valueOf('uswarm_model_gateway_cost_total')).toBeCloseTo(2 * 0.00492, 10);
  });

  it('have the share of the context window that a prompt used', async () => {
    measured({});
    expect(await valueOf('uswarm_model_gateway_context_used_ratio_sum')).toBe(0.25);
  });

  it('have neither for a model without an entry in the catalogue, or for a call that counted nothing', async () => {
    measured({ terms: { context_window: null, prices: null } });
    measured({ usage: undefined });
    expect(await valueOf('uswarm_model_gateway_cost_total')).toBeUndefined();
    expect(await valueOf('uswarm_model_gateway_context_used_ratio_sum')).toBeUndefined();
  });
});
