import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readCommand } from '../settings.js';
import { compare } from './compare.js';
import { baselineFile, saveBaseline, newestFile, readResult, resultName, writeResult } from './saved-results.js';
import type { Ratio, Result } from './result.js';

function settings(args: string[] = []) {
  const command = readCommand(args);
  if (command.do !== 'run') throw new Error('no run');
  return command.settings;
}

function result(ratios: Record<string, Ratio>, more: Partial<Result> = {}): Result {
  return {
    format: 1,
    date: '2026-01-02T03:04:05.678Z',
    commit: '0123456789abcdef',
    changed: false,
    machine: { cpus: 2, model: '', memoryGiB: 1, system: '', node: '', postgres: '' },
    settings: settings(),
    measurements: {},
    ratios,
    figures: [],
    ...more,
  };
}

const lower = (value: number): Ratio => ({ value, better: 'lower' });
const higher = (value: number): Ratio => ({ value, better: 'higher' });

describe('the comparison of two runs', () => {
  it.each([
    ['a latency ratio that grew by a fifth', lower(2), lower(2.4), false],
    ['a latency ratio that grew by more', lower(2), lower(2.41), true],
    ['a latency ratio that shrank', lower(2), lower(1), false],
    ['a rate that fell by a fifth', higher(0.8), higher(0.64), false],
    ['a rate that fell by more', higher(0.8), higher(0.63), true],
    ['a rate that grew', higher(0.8), higher(2), false],
  ])('%s', (_what, baseline, newest, tooMuch) => {
    expect(compare(result({ a: baseline }), result({ a: newest }))).toEqual([
      expect.objectContaining({ name: 'a', baseline: baseline.value, newest: newest.value, tooMuch }),
    ]);
  });

  it('compares each ratio separately', () => {
    const [before, now] = [
      { a: lower(1), b: higher(1) },
      { a: lower(0.1), b: higher(0.5) },
    ];
    expect(compare(result(before), result(now)).map(({ tooMuch }) => tooMuch)).toEqual([false, true]);
  });

  it('rejects a result with a missing or invalid ratio', () => {
    expect(() => compare(result({ a: lower(1) }), result({}))).toThrow('The newest run has no "a".');
    expect(() => compare(result({ a: lower(1) }), result({ a: lower(Number.NaN) }))).toThrow('has no "a"');
  });

  it('rejects runs with different settings', () => {
    const other = result({}, { settings: settings(['--rounds', '7']) });
    expect(() => compare(result({}), other)).toThrow('different settings');
  });
});

describe('saved results', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bench-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are named by time and commit', () => {
    expect(resultName(result({}))).toBe('2026-01-02T030405Z-0123456789ab.json');
    expect(resultName(result({}, { changed: true }))).toBe('2026-01-02T030405Z-0123456789ab-changed.json');
  });

  it('include the newest one, which becomes the baseline', () => {
    writeResult(result({ a: lower(3) }, { date: '2026-02-01T00:00:00.000Z' }), folder);
    writeResult(result({ a: lower(1) }), folder);
    expect(readResult(newestFile(folder)).ratios).toEqual({ a: lower(3) });
    expect(saveBaseline(folder)).toBe(newestFile(folder));
    writeResult(result({ a: lower(4) }, { date: '2026-03-01T00:00:00.000Z' }), folder);
    expect(readResult(baselineFile(folder)).ratios).toEqual({ a: lower(3) });
    expect(readResult(newestFile(folder)).ratios).toEqual({ a: lower(4) });
  });

  it('cause an error of one sentence if they are missing or invalid', () => {
    expect(() => newestFile(folder)).toThrow('Run npm run bench first');
    expect(() => baselineFile(folder)).toThrow('npm run bench -- --keep');
    const file = join(folder, '2026.json');
    writeFileSync(file, '{"format": 2}');
    expect(() => readResult(file)).toThrow('is not a benchmark result');
  });
});
