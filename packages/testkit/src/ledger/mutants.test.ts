import { describe, expect, it } from '@jest/globals';
import type { Proof, Requirement } from './ledger.js';
import { filesNaming, greenIds, mutantsOf, namePattern, notGreenIds } from './mutants.js';

const row = (id: string, rest: Partial<Requirement>): Requirement => ({
  id,
  spec: 'orchestrator §4.1',
  text: id,
  suite: 'int',
  state: 'proven',
  ...rest,
});
const proof = (id: string, status: Proof['status'], file = 'a.int.test.ts'): Proof => ({
  id,
  test: id,
  status,
  suite: 'int',
  file,
});

describe('mutantsOf', () => {
  it('groups only the proven integration rows by route', () => {
    const rows = [
      row('RES-001', { route: 'getHealth' }),
      row('RES-002', {}),
      row('REST-001', { route: 'getHealth' }),
      row('REST-002', { route: 'listModels', state: 'open' }),
      row('REST-003', { route: 'getLegal', suite: 'unit' }),
    ];
    expect(mutantsOf(rows)).toEqual([{ route: 'getHealth', ids: ['RES-001', 'REST-001'] }]);
  });
});

describe('namePattern', () => {
  it('matches tests that name one of the rows, but not longer ids', () => {
    const pattern = new RegExp(namePattern(['RT-001', 'REST-002']));
    expect(['x RT-001 y', 'REST-002', 'RT-0011', 'REST-001'].map((name) => pattern.test(name))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe('filesNaming', () => {
  it('returns each file once', () => {
    const proofs = [
      proof('RT-001', 'passed', 'a'),
      proof('RT-002', 'passed', 'a'),
      proof('RT-001', 'passed', 'b'),
      proof('RT-003', 'passed', 'c'),
    ];
    expect(filesNaming(['RT-001', 'RT-002'], proofs)).toEqual(['a', 'b']);
  });
});

describe('greenIds', () => {
  it('excludes a row if one of its tests fails', () => {
    expect(
      greenIds(['RT-001', 'RT-002'], [proof('RT-001', 'passed'), proof('RT-001', 'failed'), proof('RT-002', 'passed')]),
    ).toEqual(['RT-002']);
  });

  it('includes a row if none of its tests ran', () => {
    expect(greenIds(['RT-001', 'RT-002'], [proof('RT-002', 'skipped')])).toEqual(['RT-001', 'RT-002']);
  });
});

describe('notGreenIds', () => {
  it('returns rows with a failing test or without a passing one', () => {
    expect(
      notGreenIds(
        ['RT-001', 'RT-002', 'RT-003', 'RT-004'],
        [proof('RT-001', 'passed'), proof('RT-002', 'passed'), proof('RT-002', 'failed'), proof('RT-003', 'skipped')],
      ),
    ).toEqual(['RT-002', 'RT-003', 'RT-004']);
  });
});
