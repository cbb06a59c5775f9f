import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '@uswarm/service-kit';
import { loadModelGatewayConfig } from './config.js';

const MINIMUM = {
  MODEL_TOKEN_SIGNING_KEY: `m1:${'m'.repeat(32)}`,
  INTERNAL_API_URL: 'http://orchestrator:8082',
  MODEL_CALLS_KEY: `k1:${'s'.repeat(32)}`,
  OPENAI_API_KEY: 'key',
};
const load = (more: Record<string, string | undefined> = {}) => loadModelGatewayConfig({ ...MINIMUM, ...more });

describe('the configuration of the model gateway', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-model-keys-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  it('has a provider for each key or base URL', () => {
    expect(load().providers).toMatchObject({ openai: { baseUrl: 'https://api.openai.com/v1', apiKey: 'key' } });
    expect(Object.keys(load({ ANTHROPIC_API_KEY: 'other' }).providers)).toEqual(['openai', 'anthropic']);
    const local = load({ OPENAI_API_KEY: undefined, OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/' });
    expect(local.providers.openai).toMatchObject({ baseUrl: 'http://127.0.0.1:9/v1', apiKey: undefined });
  });

  it.each(['https://a.example', 'https://a.example/', 'https://a.example/v1', 'https://a.example/v1/'])(
    'accepts the base URL %s of Anthropic',
    (url) => {
      const { anthropic } = load({ ANTHROPIC_BASE_URL: url }).providers;
      expect(anthropic?.baseUrl).toBe('https://a.example/v1');
    },
  );

  it('allows the default model of runtimes, which is used for catalogue ids without another name', () => {
    expect(load({ USWARM_DEFAULT_MODEL: 'own' }).providers.openai?.models).toMatchObject({
      fallback: 'own',
      further: ['own'],
    });
    const { models } = load({ USWARM_DEFAULT_MODEL: 'own', OPENAI_MODEL: 'gpt' }).providers.openai ?? {};
    expect(models).toMatchObject({ fallback: 'gpt', further: ['own'] });
    expect(load({ USWARM_DEFAULT_MODEL: 'flash' }).providers.openai?.models).toMatchObject({
      fallback: undefined,
      further: [],
    });
  });

  it('reads the keys of providers from files', () => {
    const file = path.join(directory, 'key');
    writeFileSync(file, 'key of the file\n');
    const { providers } = load({ OPENAI_API_KEY: undefined, OPENAI_API_KEY_FILE: file });
    expect(providers.openai?.apiKey).toBe('key of the file');
  });

  it('transcribes with the OpenAI provider, or with another server that does not get its key', () => {
    const transcription = (more: Record<string, string | undefined>) =>
      load({ TRANSCRIPTION_MODEL: 'whisper-1', ...more }).transcription;
    const baseUrl = 'https://api.openai.com/v1';
    expect(load().transcription).toBeUndefined();
    expect(transcription({})).toEqual({ model: 'whisper-1', baseUrl, apiKey: 'key' });
    expect(transcription({ TRANSCRIPTION_BASE_URL: 'http://speech:8000/v1/' })).toEqual({
      model: 'whisper-1',
      baseUrl: 'http://speech:8000/v1',
      apiKey: undefined,
    });
    const anthropicOnly = { OPENAI_API_KEY: undefined, ANTHROPIC_API_KEY: 'other' };
    expect(transcription({ ...anthropicOnly, TRANSCRIPTION_API_KEY: 'own' })).toMatchObject({ baseUrl, apiKey: 'own' });
    expect(() => transcription(anthropicOnly)).toThrow('TRANSCRIPTION_BASE_URL');
  });

  it('accepts the previous key of model tokens during a rotation', () => {
    expect(load({ MODEL_TOKEN_SIGNING_KEY_PREVIOUS: `m0:${'n'.repeat(32)}` }).tokenKeys.map(({ id }) => id)).toEqual([
      'm1',
      'm0',
    ]);
    expect(() => load({ MODEL_TOKEN_SIGNING_KEY_PREVIOUS: `m1:${'n'.repeat(32)}` })).toThrow(ConfigError);
  });

  it.each([
    ['no provider', { OPENAI_API_KEY: undefined }, 'no model provider'],
    ['a base URL without http', { OPENAI_BASE_URL: 'file:///etc/passwd' }, 'OPENAI_BASE_URL'],
    ['no key for model tokens', { MODEL_TOKEN_SIGNING_KEY: undefined }, 'MODEL_TOKEN_SIGNING_KEY'],
    ['a short key for model calls', { MODEL_CALLS_KEY: 'short' }, 'MODEL_CALLS_KEY'],
  ])('is rejected with %s', (_what, change, message) => {
    expect(() => load(change)).toThrow(message);
  });
});
