import { describe, expect, it } from '@jest/globals';
import { judge, renderTable, verdictOf, withVerdicts } from './judgement.js';
import type { Proof, Requirement, Suite } from './ledger.js';

const row = (id: string, state: Requirement['state'] = 'open', suite: Suite = 'int'): Requirement => ({
  id,
  spec: 'orchestrator §4.1',
  text: `the rule of ${id}`,
  suite,
  state,
});
const proof = (id: string, status: Proof['status'], suite: Suite = 'int'): Proof => ({
  id,
  test: `${id} holds`,
  status,
  suite,
  file: 'services/x/src/x.test.ts',
});
const idsOf = (entries: readonly { row: Requirement }[]) => entries.map((entry) => entry.row.id);

describe('verdictOf', () => {
  const subject = row('REST-001');
  it.each([
    { verdict: 'unproven', when: 'no test names the row', proofs: [proof('REST-002', 'passed')] },
    { verdict: 'proven', when: 'a test of its suite passes', proofs: [proof('REST-001', 'passed')] },
    {
      verdict: 'unproven',
      when: 'only a test of another suite passes',
      proofs: [proof('REST-001', 'passed', 'unit')],
    },
    {
      verdict: 'failed',
      when: 'one of several tests fails',
      proofs: [proof('REST-001', 'passed'), proof('REST-001', 'failed')],
    },
    {
      verdict: 'failed',
      when: 'a test of another suite fails',
      proofs: [proof('REST-001', 'passed'), proof('REST-001', 'failed', 'unit')],
    },
    {
      verdict: 'skipped',
      when: 'its only tests were skipped',
      proofs: [proof('REST-001', 'skipped')],
    },
    {
      verdict: 'proven',
      when: 'one test was skipped and another passes',
      proofs: [proof('REST-001', 'skipped'), proof('REST-001', 'passed')],
    },
  ])('returns $verdict when $when', ({ verdict, proofs }) => {
    expect(verdictOf(subject, proofs)).toBe(verdict);
  });
});

describe('judge', () => {
  it('judges only the rows of the suites that ran', () => {
    const rows = [row('REST-001', 'proven'), row('CRD-001', 'proven', 'e2e')];
    const { judged, lost } = judge(rows, {
      proofs: [proof('REST-001', 'passed')],
      suites: ['int'],
    });
    expect(idsOf(judged)).toEqual(['REST-001']);
    expect(lost).toEqual([]);
  });

  it('reports rows that are marked proven without a passing test', () => {
    const rows = [row('REST-001', 'proven'), row('REST-002', 'proven'), row('REST-003', 'proven')];
    const proofs = [proof('REST-001', 'passed'), proof('REST-002', 'failed')];
    const { lost } = judge(rows, { proofs, suites: ['int'] });
    expect(lost.map((entry) => [entry.row.id, entry.verdict])).toEqual([
      ['REST-002', 'failed'],
      ['REST-003', 'unproven'],
    ]);
  });

  it('reports rows that a passing test proves but the ledger marks as open', () => {
    const { unmarked } = judge([row('REST-001'), row('REST-002')], {
      proofs: [proof('REST-001', 'passed')],
      suites: ['int'],
    });
    expect(idsOf(unmarked)).toEqual(['REST-001']);
  });

  it('reports tests that name an unknown row', () => {
    const { unknown } = judge([row('REST-001')], {
      proofs: [proof('REST-999', 'passed')],
      suites: ['int'],
    });
    expect(unknown.map((entry) => entry.id)).toEqual(['REST-999']);
  });

  it('accepts a skipped proof unless skips are errors', () => {
    const rows = [row('REST-001', 'proven')];
    const results = { proofs: [proof('REST-001', 'skipped')], suites: ['int' as const] };
    expect(idsOf(judge(rows, results).skipped)).toEqual(['REST-001']);
    expect(judge(rows, results).lost).toEqual([]);
    expect(idsOf(judge(rows, results, { skipsAreErrors: true }).lost)).toEqual(['REST-001']);
  });
});

describe('withVerdicts', () => {
  it('updates the states of judged rows and keeps those of skipped and unjudged rows', () => {
    const rows = [
      row('REST-001'),
      row('REST-002', 'proven'),
      row('REST-003', 'proven'),
      row('CRD-001', 'proven', 'e2e'),
    ];
    const proofs = [proof('REST-001', 'passed'), proof('REST-002', 'failed'), proof('REST-003', 'skipped')];
    const { judged } = judge(rows, { proofs, suites: ['int'] });
    expect(withVerdicts(rows, judged).map(({ state }) => state)).toEqual(['proven', 'open', 'proven', 'proven']);
  });
});

describe('renderTable', () => {
  it('counts rows per prefix and in total', () => {
    const rows = [row('AUTH-001'), row('REST-001'), row('REST-002')];
    const { judged } = judge(rows, { proofs: [proof('REST-002', 'passed')], suites: ['int'] });
    expect(renderTable(judged).map((line) => line.trim().split(/\s+/))).toEqual([
      ['rows', 'proven', 'open'],
      ['REST', '2', '1', '1'],
      ['AUTH', '1', '0', '1'],
      ['all', '3', '1', '2'],
    ]);
  });
});
