import { describe, expect, it } from '@jest/globals';
import { defaultModel } from './default-model.js';

describe('the model that an agent without one shows', () => {
  it('is the default of UserSwarms on a cluster', () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: 'flash' } as const;
    expect(defaultModel(config, { USWARM_DEFAULT_MODEL: 'opus' })).toBe('flash');
  });

  it('is what processes are given elsewhere', () => {
    const config = { RUNTIME_DRIVER: 'process', RUNTIME_DEFAULT_MODEL: 'flash' } as const;
    expect(defaultModel(config, { USWARM_DEFAULT_MODEL: 'opus' })).toBe('opus');
  });

  it('is sonnet without a default, or if the default is not an id of the catalogue', () => {
    const config = { RUNTIME_DRIVER: 'kubernetes', RUNTIME_DEFAULT_MODEL: undefined } as const;
    expect(defaultModel(config, {})).toBe('sonnet');
    expect(defaultModel({ ...config, RUNTIME_DEFAULT_MODEL: 'some/model-1' }, {})).toBe('sonnet');
  });
});
