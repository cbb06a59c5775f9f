import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MODEL_PROVIDERS } from '@uswarm/contract/providers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadModelCatalog } from './models.js';

const CAPABILITIES = {
  tools: true,
  parallel_tool_calls: true,
  images: true,
  documents: false,
  reasoning: false,
  caching: false,
};
const PRICES = { input: 1, cached_input: 1, output: 2 };
const LIMITS = { context_window: 8_192, max_output_tokens: 1_024, capabilities: CAPABILITIES, prices: PRICES };
const FLASH = { id: 'flash', name: 'Flash', description: 'd', providers: { own: LIMITS } };

describe('the model catalogue of the service', () => {
  it.each(MODEL_PROVIDERS)('has limits of every model for the provider %s', (provider) => {
    const catalog = loadModelCatalog({ provider, defaultModel: 'sonnet' });
    const known = catalog.items.map(({ id }) => catalog.limits(id) !== undefined);
    expect(known).toEqual([true, true, true]);
  });

  it('uses the model of the agent, else the default', () => {
    const limits = (agentModel: string | null, defaultModel = 'sonnet') =>
      loadModelCatalog({ provider: 'anthropic', defaultModel }).limits(agentModel)?.prices.output;
    const [flash, sonnet, opus] = ['flash', 'sonnet', 'opus'].map((id) => limits(id));
    expect(new Set([flash, sonnet, opus]).size).toBe(3);
    expect(limits('flash', 'opus')).toBe(flash);
    expect(limits(null, 'opus')).toBe(opus);
    expect(limits(null)).toBe(sonnet);
  });

  it('has flash for sub-agents, whatever the default of the catalogue is', () => {
    const models = ['flash', 'sonnet', 'opus'].map((defaultModel) =>
      loadModelCatalog({ provider: 'openai', defaultModel }),
    );
    expect(models.map(({ subAgentModel }) => subAgentModel)).toEqual(['flash', 'flash', 'flash']);
  });

  it.each([
    ["the default is a provider's model name", { defaultModel: 'some/model-1' }],
    ['runtimes have no name for it', { namesFlash: false }],
    ['the provider has no entry for it', { provider: 'own' }],
  ])('has the default model for sub-agents instead of flash if %s', (_why, more) => {
    const options = { provider: 'openai', defaultModel: 'sonnet', ...more };
    expect(loadModelCatalog(options).subAgentModel).toBeNull();
  });

  it('has the price of the model for the provider of the call, and the id of the catalogue', () => {
    const catalog = loadModelCatalog({ provider: 'openai', defaultModel: 'sonnet' });
    const prices = catalog.limits('flash')?.prices;
    expect(catalog.price('flash', 'openai')).toEqual({ modelId: 'flash', prices });
    expect(catalog.price(null, 'openai').modelId).toBe('sonnet');
    expect(catalog.price('flash', 'anthropic').prices).not.toEqual(prices);
    expect(catalog.price('flash', 'own')).toEqual({ modelId: 'flash', prices: null });
    expect(catalog.price('some/model-1', 'openai')).toEqual({ modelId: null, prices: null });
  });

  it("has unknown limits for a provider's model name and for a provider without an entry", () => {
    expect(loadModelCatalog({ provider: 'openai', defaultModel: 'some/model-1' }).limits(null)).toBeUndefined();
    const other = loadModelCatalog({ provider: 'own', defaultModel: 'sonnet' });
    expect(other.limits('flash')).toBeUndefined();
    expect(other.items[0]).toEqual({ id: 'flash', name: 'Flash', provider: 'own', description: expect.any(String) });
  });
});

describe('a file with models', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'models-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  function load(models: unknown) {
    const file = path.join(directory, 'models.json');
    writeFileSync(file, JSON.stringify(models));
    return loadModelCatalog({ provider: 'own', defaultModel: 'flash', file });
  }

  it('replaces the catalogue of the service', () => {
    const catalog = load([FLASH]);
    expect(catalog.limits(null)).toEqual(LIMITS);
    expect(catalog.items).toEqual([
      {
        id: 'flash',
        name: 'Flash',
        provider: 'own',
        description: 'd',
        context_window: 8_192,
        max_output_tokens: 1_024,
        capabilities: CAPABILITIES,
      },
    ]);
  });

  it('lets sub-agents have the default model if it has no flash', () => {
    expect(load([FLASH]).subAgentModel).toBe('flash');
    expect(load([{ ...FLASH, id: 'sonnet' }]).subAgentModel).toBeNull();
  });

  it.each([
    ['no model', []],
    ['two models with the same id', [FLASH, FLASH]],
    ['an unknown id', [{ ...FLASH, id: 'huge' }]],
    ['an unknown field', [{ ...FLASH, window: 1 }]],
    ['no output limit', [{ ...FLASH, providers: { own: { ...LIMITS, max_output_tokens: 0 } } }]],
    [
      'an output limit as large as the window',
      [{ ...FLASH, providers: { own: { ...LIMITS, max_output_tokens: 8_192 } } }],
    ],
    ['a missing capability', [{ ...FLASH, providers: { own: { ...LIMITS, capabilities: { tools: true } } } }]],
    ['a fractional price', [{ ...FLASH, providers: { own: { ...LIMITS, prices: { ...PRICES, input: 0.5 } } } }]],
  ])('is rejected with %s', (_what, models) => {
    expect(() => load(models)).toThrow();
  });
});
