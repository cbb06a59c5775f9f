import { describe, expect, it } from '@jest/globals';
import { exceedsDepth } from './depth.js';

const nested = (levels: number, open: string, close: string): unknown =>
  JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`);

describe('exceedsDepth', () => {
  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('counts the levels of %s', (_kind, open, close) => {
    expect(exceedsDepth(nested(64, open, close), 64)).toBe(false);
    expect(exceedsDepth(nested(65, open, close), 64)).toBe(true);
    expect(exceedsDepth(nested(100_000, open, close), 64)).toBe(true);
  });

  it('finds a single deep part', () => {
    expect(exceedsDepth({ a: [1, 2], b: { c: nested(70, '[', ']') }, d: null }, 64)).toBe(true);
    expect(exceedsDepth({ a: [1, 2], b: { c: 'x' }, d: null, e: Buffer.alloc(10) }, 2)).toBe(false);
  });
});
