import type { RuntimeConfig } from '../config.js';
import { createDemoProvider } from './demo.js';
import type { ModelProvider } from './model.js';
import { createOpenAiProvider } from './openai.js';

/** The provider that the configuration names. */
export function createProvider(
  config: Pick<RuntimeConfig, 'provider' | 'openai' | 'modelTimeoutMs' | 'demoDelayMs'>,
): ModelProvider {
  switch (config.provider) {
    case 'demo':
      return createDemoProvider({ delayMs: config.demoDelayMs });
    case 'openai':
      return createOpenAiProvider({ ...config.openai, timeoutMs: config.modelTimeoutMs });
  }
}
