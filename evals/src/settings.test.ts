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
        OPENAI_API_KEY: 'k',
        OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
        OPENAI_MODEL: 'm',
        USWARM_MODEL_CONTEXT_WINDOW: '8192',
      },
      providerName: 'openai',
      model: 'm',
      repeat: 4,
      concurrency: 1,
    });
    const { provider } = readSettings(args, environment) as { provider: object };
    expect(Object.keys(provider)).not.toContain('ANTHROPIC_API_KEY');
  });

  it('need no model for scripted runs', () => {
    expect(readSettings(['--provider', 'scripted', '--script', 'wrong'], {})).toMatchObject({
      provider: 'scripted',
      script: 'wrong',
      repeat: 1,
    });
  });

  it.each([
    [[], '--provider must be one of scripted, demo, openai, anthropic.'],
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
