import { describe, expect, it } from '@jest/globals';
import { medians, startTable } from './start-table.js';

const figures = (listeningMs: number, cpuMs = 1) => ({ listeningMs, cpuMs, residentMiB: 40, privateMiB: 10 });

describe('the table of starts', () => {
  it('shows the median of each metric for odd and even numbers of rounds', () => {
    expect(medians([figures(30, 5), figures(10, 9), figures(20, 7)])).toMatchObject({ listeningMs: 20, cpuMs: 7 });
    expect(medians([figures(30), figures(10)])).toMatchObject({ listeningMs: 20 });
  });

  it('compares the time until listening with the first row', () => {
    const table = startTable([
      { name: 'bare Node', figures: figures(20) },
      { name: 'image', figures: figures(50) },
    ]);
    expect(table.split('\n').slice(2)).toEqual([
      '| bare Node | 20 | 1.0 | 1 | 40.0 | 10.0 |',
      '| image | 50 | 2.5 | 1 | 40.0 | 10.0 |',
    ]);
  });
});
