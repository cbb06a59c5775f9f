import { describe, expect, it } from '@jest/globals';
import { diffOf } from './diff.js';

const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`);

describe('the differences between two versions', () => {
  it('have what was added and removed, with three lines around it', () => {
    const before = [...lines(1, 20), ''].join('\n');
    const after = [...lines(1, 9), 'new', ...lines(11, 20), ''].join('\n');
    expect(diffOf(before, after)?.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      'skipped: 6 unchanged lines',
      'same: line 7',
      'same: line 8',
      'same: line 9',
      'removed: line 10',
      'added: new',
      'same: line 11',
      'same: line 12',
      'same: line 13',
      'skipped: 7 unchanged lines',
    ]);
  });

  it('are the whole text of a first version', () => {
    expect(diffOf('', 'a\nb\n')).toEqual([
      { kind: 'added', text: 'a' },
      { kind: 'added', text: 'b' },
    ]);
  });

  it('are unknown if they take too long', () => {
    const random = (seed: number) => lines(1, 3_000).map((_, at) => String(Math.imul(at + seed, 2_654_435_761)));
    expect(diffOf(random(1).join('\n'), random(7_919).join('\n'), 1)).toBeUndefined();
  });
});
