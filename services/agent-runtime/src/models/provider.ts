import type { RuntimeConfig } from '../config.js';
import { createDemoProvider } from './demo.js';
import { lazyProvider } from './lazy-provider.js';
import type { ModelProvider } from './model.js';

/** The provider that the configuration names. */
export function createProvider(
  config: Pick<RuntimeConfig, 'provider' | 'openai' | 'modelTimeoutMs' | 'demoDelayMs'>,
): ModelProvider {
  switch (config.provider) {
    case 'demo':
      return createDemoProvider({ delayMs: config.demoDelayMs });
    case 'openai':
      return lazyProvider('openai', async () => {
        const { createOpenAiProvider } = await import('./openai.js');
        return createOpenAiProvider({ ...config.openai, timeoutMs: config.modelTimeoutMs });
      });
  }
}
