import { describe, expect, it } from '@jest/globals';
import { canonicalQuantity } from '@uswarm/contract/userswarm';
import fc from 'fast-check';
import { storedQuantity } from './quantity.js';

const quantities = fc
  .tuple(
    fc.oneof(
      fc.nat(99_999).map(String),
      fc.double({ min: 0, max: 9_999, noNaN: true }).map((value) => value.toFixed(4)),
    ),
    fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'Ti', 'e2', 'E3', 'e-1', 'u', 'n'),
  )
  .map(([number, suffix]) => number + suffix);

describe('storedQuantity', () => {
  // Results from a real API server (1.34).
  it.each([
    ['0.5', '500m'],
    ['1e-1', '100e-3'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.0001', '1m'],
    ['1e1', '10'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1e3'],
    ['1e9', '1e9'],
    ['1500000', '1500k'],
    ['2M', '2M'],
    ['1000M', '1G'],
    ['512Ki', '512Ki'],
  ])('converts %s to %s', (sent, stored) => {
    expect(storedQuantity(sent)).toBe(stored);
  });

  it('rejects invalid quantities', () => {
    expect(() => storedQuantity('much')).toThrow('not a quantity');
    expect(() => storedQuantity('1Xi')).toThrow('not a quantity');
  });

  it('equals the canonical form of the contract and is stable', () => {
    fc.assert(
      fc.property(quantities, (text) => {
        const canonical = canonicalQuantity(text);
        expect(canonical).toBe(storedQuantity(text));
        expect(storedQuantity(canonical)).toBe(canonical);
      }),
    );
  });
});
