import { describe, expect, it } from '@jest/globals';
import { readSettings, UsageError } from './settings.js';

describe('the settings of an evaluation', () => {
  it('select a provider with its model, server and key, and pass on nothing else', () => {
    const args = ['--provider', 'openai', '--model', 'm', '--base-url', 'http://127.0.0.1:1/v1', '--repeat', '4'];
    const environment = {
      OPENAI_API_KEY: 'k',
      ANTHROPIC_API_KEY: 'other',
      USWARM_MODEL_CONTEXT_WINDOW: '8192',
      PATH: 'x',
    };
    expect(readSettings(args, environment)).toMatchObject({
      provider: {
        env: {
          OPENAI_API_KEY: 'k',
          OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
          OPENAI_MODEL: 'm',
          USWARM_MODEL_CONTEXT_WINDOW: '8192',
        },
      },
      providerName: 'openai',
      model: 'm',
      repeat: 4,
      concurrency: 1,
    });
    const { provider } = readSettings(args, environment) as { provider: { env: object } };
    expect(Object.keys(provider.env)).not.toContain('ANTHROPIC_API_KEY');
  });

  it('need no model for scripted runs', () => {
    expect(readSettings(['--provider', 'scripted', '--script', 'wrong'], {})).toMatchObject({
      provider: 'scripted',
      script: 'wrong',
      repeat: 1,
    });
  });

  it('start a model on this machine, and use no key or server of the environment', () => {
    const environment = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1', OPENAI_MODEL: 'm' };
    expect(readSettings(['--provider', 'llama', '--task', 'small-model'], environment)).toMatchObject({
      provider: {
        llama: { model: 'qwen2.5-coder-1.5b', threads: 1, contextWindow: 16_384, outputLimit: 1_024 },
      },
      providerName: 'llama',
      model: 'qwen2.5-coder-1.5b',
      only: ['small-model'],
      concurrency: 1,
    });
  });

  it('give the smallest model its own window, or that of the environment', () => {
    const args = ['--provider', 'llama', '--model', 'smollm2', '--threads', '2'];
    expect(readSettings(args, { USWARM_MODEL_OUTPUT_LIMIT: '64' })).toMatchObject({
      provider: { llama: { model: 'smollm2', threads: 2, contextWindow: 8_192, outputLimit: 64 } },
    });
  });

  it.each([
    [[], '--provider must be one of scripted, llama, demo, openai, anthropic.'],
    [['--provider', 'llama', '--model', 'm'], '--model must be one of qwen2.5-coder-1.5b, smollm2.'],
    [['--provider', 'llama', '--threads', '0'], '--threads must be a positive integer.'],
    [['--provider', 'openai', '--threads', '2'], '--threads needs --provider llama.'],
    [['--provider', 'openai'], '--model or OPENAI_MODEL is required.'],
    [['--provider', 'openai', '--model', 'm'], 'OPENAI_API_KEY, OPENAI_BASE_URL or --base-url is required.'],
    [['--provider', 'scripted', '--repeat', '0'], '--repeat must be a positive integer.'],
    [['--provider', 'scripted', '--script', 'best'], '--script must be one of reference, empty, wrong.'],
    [['--provider', 'demo', '--script', 'wrong'], '--script needs --provider scripted.'],
    [['--modle', 'm'], "Unknown option '--modle'. Try npm run eval -- --help."],
  ])('reject %j in one sentence', (args, sentence) => {
    expect(() => readSettings(args, {})).toThrow(expect.objectContaining({ name: UsageError.name, message: sentence }));
  });
});
