import { describe, expect, it } from '@jest/globals';
import { createShownModel, namesFlash, userSwarmModel } from './default-model.js';

describe('the model shown for an agent without a model setting', () => {
  const settings = [{ RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: 'opus' }, {}] as const;
  const shown = (subAgentModel: 'flash' | null) => {
    const of = createShownModel({ subAgentModel }, ...settings);
    return { manager: of('manager'), subAgent: of('sub-agent') };
  };

  it('is the default model for a manager, and flash for a sub-agent', () => {
    expect(shown('flash')).toEqual({ manager: 'opus', subAgent: 'flash' });
  });

  it('is the default model for all agents if the installation has no flash', () => {
    expect(shown(null)).toEqual({ manager: 'opus', subAgent: 'opus' });
  });

  it('is sonnet without a default, or if the default is not an id of the catalogue', () => {
    for (const name of [undefined, '', 'some/model-1']) {
      const of = createShownModel(
        { subAgentModel: null },
        { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: name },
        {},
      );
      expect([of('manager'), of('sub-agent')]).toEqual(['sonnet', 'sonnet']);
    }
  });
});

describe('the default model of UserSwarms', () => {
  it('is set by the chart in a cluster', () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: 'flash' } as const;
    expect(userSwarmModel(config, { USWARM_DEFAULT_MODEL: 'opus' })).toBe('flash');
  });

  it('is the model of the runtime environment without a cluster', () => {
    const config = { RUNTIME_DRIVER: 'process', RUNTIME_DEFAULT_MODEL: 'flash' } as const;
    expect(userSwarmModel(config, { USWARM_DEFAULT_MODEL: 'opus' })).toBe('opus');
  });

  it("can be a provider's model name, and is sonnet without a setting", () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: 'some/model-1' } as const;
    expect(userSwarmModel(config, {})).toBe('some/model-1');
    expect(userSwarmModel({ ...config, RUNTIME_DEFAULT_MODEL: '' }, {})).toBe('sonnet');
  });
});

describe('a name for flash', () => {
  const named = (
    environment: Record<string, string>,
    driver: 'process' | 'kubernetes' = 'process',
    provider = 'openai',
  ) => namesFlash({ RUNTIME_DRIVER: driver, MODEL_PROVIDER: provider }, environment);

  it('is its own variable, or the variable for all models', () => {
    expect(named({ OPENAI_MODEL_FLASH: 'small' })).toBe(true);
    expect(named({ OPENAI_MODEL: 'any' })).toBe(true);
  });

  it('is missing if only other models or another provider have a name', () => {
    expect(named({ OPENAI_MODEL_SONNET: 'medium', ANTHROPIC_MODEL: 'any' })).toBe(false);
  });

  it('is not needed by a provider without an account, and not known in a cluster', () => {
    expect(named({}, 'process', 'demo')).toBe(true);
    expect(named({}, 'kubernetes')).toBe(true);
  });
});
