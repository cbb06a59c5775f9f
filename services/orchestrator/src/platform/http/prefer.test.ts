import { describe, expect, it } from '@jest/globals';
import { prefersMinimal } from './prefer.js';

describe('prefersMinimal', () => {
  it.each([
    'return=minimal',
    'Return=minimal',
    ' return = minimal ',
    'return="minimal"',
    'respond-async, return=minimal',
    'wait=10;x=y,return=minimal;foo="bar"',
    'return=minimal, return=representation',
  ])('returns true for %j', (header) => {
    expect(prefersMinimal(header)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'minimal',
    'return',
    'return=',
    'return=minimalist',
    'return=representation',
    'x-return=minimal',
    'return=representation, return=minimal',
    'handling=lenient; return=minimal',
  ])('returns false for %j', (header) => {
    expect(prefersMinimal(header)).toBe(false);
  });
});
