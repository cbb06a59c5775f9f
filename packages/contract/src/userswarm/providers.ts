/**
 * The model providers that our runtime image offers, by their slugs. On its own, without schemas: a runtime loads it, and
 * pays for what it loads in memory.
 */
export const MODEL_PROVIDERS = ['demo', 'openai'] as const;
export type ModelProvider = (typeof MODEL_PROVIDERS)[number];
