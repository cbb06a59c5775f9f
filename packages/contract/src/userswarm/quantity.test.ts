import { describe, expect, it } from '@jest/globals';
import { canonicalQuantity, exceeds, parseQuantity } from './quantity.js';

describe('quantities', () => {
  it.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1.5', '1500m'],
    ['.25', '250m'],
    ['100m', '100m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1024', '1024'],
    ['1000', '1k'],
    ['1500000', '1500k'],
    ['512Ki', '512Ki'],
    ['0.5Ki', '512'],
    ['1e3', '1e3'],
    ['15e-1', '1500e-3'],
    ['0.0001', '1m'],
    ['+2', '2'],
    ['0Mi', '0'],
    ['0100Mi', '100Mi'],
  ])('canonicalQuantity(%s) is %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  it.each(['', 'Mi', '1 Gi', '-1', '1mm', 'a', '1e999', '1e', '.', '1KI', '9999999E'])(
    '%p is not a quantity',
    (text) => {
      expect(parseQuantity(text)).toBeUndefined();
      expect(() => canonicalQuantity(text)).toThrow('not a quantity');
    },
  );

  it('exceeds compares quantities with different suffixes', () => {
    expect(exceeds('1Gi', '1G')).toBe(true);
    expect(exceeds('1000m', '1')).toBe(false);
    expect(exceeds('1001m', '1')).toBe(true);
  });
});
