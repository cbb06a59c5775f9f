import { describe, expect, it } from '@jest/globals';
import { resolveModel } from './model-names.js';

const resolve = (
  requested: string,
  byId: Record<string, string>,
  more: { fallback?: string; preferred?: string } = {},
) => resolveModel(requested, { byId, variable: 'OPENAI_MODEL', ...more });

describe('the name of a model at the provider', () => {
  it('is the name of its id, else the name for all ids', () => {
    expect(resolve('flash', { flash: 'small' }, { fallback: 'any' })).toBe('small');
    expect(resolve('opus', { flash: 'small' }, { fallback: 'any' })).toBe('any');
  });

  it('is that of the default model if a request names no model', () => {
    const names = { flash: 'small', sonnet: 'medium' };
    expect(resolve('', names)).toBe('medium');
    expect(resolve('', names, { preferred: 'flash' })).toBe('small');
    expect(resolve('', names, { preferred: 'some/model-1' })).toBe('some/model-1');
  });

  it('is that of the default model if its id has no name', () => {
    expect(resolve('flash', { sonnet: 'medium' })).toBe('medium');
    expect(resolve('flash', { opus: 'large' }, { preferred: 'opus' })).toBe('large');
    expect(resolve('flash', {}, { preferred: 'some/model-1' })).toBe('some/model-1');
  });

  it('is missing if the default model has no name either', () => {
    expect(() => resolve('flash', { opus: 'large' })).toThrow('No model is configured: set OPENAI_MODEL.');
  });
});
