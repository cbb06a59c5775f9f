import { describe, expect, it } from '@jest/globals';
import { defaultModel, userSwarmModel } from './default-model.js';

describe('the default model', () => {
  it('is the default of UserSwarms in a cluster', () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: 'flash' } as const;
    expect(defaultModel(config, { USWARM_DEFAULT_MODEL: 'opus' })).toBe('flash');
  });

  it('is the model of the runtime environment without a cluster', () => {
    const config = { RUNTIME_DRIVER: 'process', RUNTIME_DEFAULT_MODEL: 'flash' } as const;
    expect(defaultModel(config, { USWARM_DEFAULT_MODEL: 'opus' })).toBe('opus');
  });

  it('is sonnet without a default, or if the default is not an id of the catalogue', () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: undefined } as const;
    expect(defaultModel(config, {})).toBe('sonnet');
    expect(defaultModel({ ...config, RUNTIME_DEFAULT_MODEL: 'some/model-1' }, {})).toBe('sonnet');
  });

  it("can be a provider's model name for the limits of a turn", () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: 'some/model-1' } as const;
    expect(userSwarmModel(config, {})).toBe('some/model-1');
    expect(userSwarmModel({ ...config, RUNTIME_DEFAULT_MODEL: '' }, {})).toBe('sonnet');
  });
});
