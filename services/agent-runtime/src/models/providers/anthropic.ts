import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { anthropicBaseUrl } from '@uswarm/contract/providers';
import { type ModelNames, resolveModel } from '../model-names.js';
import { repairMessages } from '../message-repair.js';
import type { AttemptOptions, ProviderAdapter } from './adapter.js';

export interface AnthropicDeps {
  /** Default: Anthropic. `/v1` at its end is optional. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  names: ModelNames;
}

const ANTHROPIC = 'https://api.anthropic.com';

/** Anthropic, and servers with its Messages protocol. */
export function createAnthropicAdapter({ baseUrl = ANTHROPIC, apiKey, names }: AnthropicDeps): ProviderAdapter {
  return {
    slug: 'anthropic',
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
