import { describe, expect, it } from '@jest/globals';
import { configuredProvider } from './model-providers.js';

describe('configuredProvider', () => {
  it.each([
    [{}, 'demo'],
    [{ OPENAI_MODEL: 'm' }, 'demo'],
    [{ OPENAI_API_KEY: 'k' }, 'openai'],
    [{ OPENAI_API_KEY: '' }, 'demo'],
    [{ ANTHROPIC_API_KEY: 'k' }, 'anthropic'],
    [{ OPENAI_BASE_URL: 'http://localhost:11434/v1' }, 'openai'],
  ])('selects the provider whose key or base URL is set: %j selects %s', (environment, provider) => {
    expect(configuredProvider(environment)).toBe(provider);
  });
});
