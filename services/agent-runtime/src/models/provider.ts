import { configuredProvider, MODEL_PROVIDERS, type ModelProvider as ProviderId } from '@uswarm/contract/providers';
import { z } from 'zod';
import { createDemoProvider } from './demo.js';
import { lazyProvider } from './lazy-provider.js';
import type { ModelProvider } from './model.js';

const milliseconds = z.coerce.number().int().min(0);

/** The variables of all providers. Those of one provider are also listed in `@uswarm/contract/providers`. */
export const modelVariables = {
  USWARM_DEFAULT_PROVIDER: z.enum(MODEL_PROVIDERS).optional(),
  USWARM_DEFAULT_MODEL: z.string().optional(),
  OPENAI_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_MODEL: z.string().optional(),
  OPENAI_MODEL_FLASH: z.string().optional(),
  OPENAI_MODEL_SONNET: z.string().optional(),
  OPENAI_MODEL_OPUS: z.string().optional(),
  /** At most 5 minutes: above, the limits of the HTTP client apply first. */
  USWARM_MODEL_TIMEOUT_MS: milliseconds.min(1).max(300_000).default(60_000),
  USWARM_DEMO_DELAY_MS: milliseconds.default(15),
};

export type ModelVariables = z.output<z.ZodObject<typeof modelVariables>>;

/** The loaders of all providers. Client libraries are loaded with the first call. */
const LOADERS: Record<ProviderId, (env: ModelVariables) => ModelProvider> = {
  demo: (env) => createDemoProvider({ delayMs: env.USWARM_DEMO_DELAY_MS }),
  openai: (env) =>
    lazyProvider('openai', async () => {
      const { createOpenAiProvider } = await import('./openai.js');
      return createOpenAiProvider({
        baseUrl: env.OPENAI_BASE_URL,
        apiKey: env.OPENAI_API_KEY,
        models: {
          byId: { flash: env.OPENAI_MODEL_FLASH, sonnet: env.OPENAI_MODEL_SONNET, opus: env.OPENAI_MODEL_OPUS },
          fallback: env.OPENAI_MODEL,
          preferred: env.USWARM_DEFAULT_MODEL,
        },
        timeoutMs: env.USWARM_MODEL_TIMEOUT_MS,
      });
    }),
};

/** `USWARM_DEFAULT_PROVIDER`, else the provider that the environment connects to. */
export function providerOf(env: ModelVariables): ProviderId {
  return env.USWARM_DEFAULT_PROVIDER ?? configuredProvider(env);
}

export function createProvider(provider: ProviderId, env: ModelVariables): ModelProvider {
  return LOADERS[provider](env);
}
