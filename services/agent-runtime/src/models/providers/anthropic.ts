import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { anthropicBaseUrl } from '@uswarm/contract/providers';
import { resolveModel } from '../model-names.js';
import { repairMessages } from '../message-repair.js';
import type { AdapterOptions, AttemptOptions, ProviderAdapter } from './adapter.js';

/** Servers with the messages protocol. `/v1` at the end of the base URL is optional. */
export function createAnthropicAdapter({ slug, baseUrl, apiKey, names }: AdapterOptions): ProviderAdapter {
  return {
    slug,
    required: ['max_tokens'],
    modelName: (requested) => resolveModel(requested, names),
    languageModel({ model, fetch, token }: AttemptOptions): LanguageModelV4 {
      // The client requires a key, but gateways on the same machine need none.
      const key = token === undefined ? { apiKey: apiKey ?? 'none' } : { authToken: token };
      return createAnthropic({ baseURL: anthropicBaseUrl(baseUrl), fetch, ...key })(model);
    },
    prepare: (prompt) => prompt,
    repair: repairMessages,
  };
}
