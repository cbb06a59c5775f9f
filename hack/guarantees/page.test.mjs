import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { guaranteesPage } from './page.mjs';

const result = (title, status = 'passed', ancestorTitles = ['a call']) => ({ ancestorTitles, title, status });
const RESULTS = {
  kills: [
    result('leaves once if a process is killed before the first model call: the runtime'),
    result('leaves once if a process is killed before the first model call: both'),
    result('leaves once if a process is killed before its answer, as an event with its key: both'),
    result('invariant 7: has no job, and leaves once after the decision: the orchestrator'),
  ],
  outages: [result('ends all connections', 'passed', ['a call', 'leaves once if Postgres'])],
  ownData: [result('invariant 4: is saved once if the runtime is killed')],
  injections: [
    result('invariant 11: changes nothing without an approval: send a mail, title of a web page'),
    result('changes nothing without an approval: send a mail, a PDF'),
    result('asks for what was read in an earlier turn'),
  ],
};

describe('the page about guarantees', () => {
  const page = guaranteesPage(RESULTS, '1 December 2026');

  it('has a row per moment and a column per killed process', () => {
    expect(page).toContain('| before the first model call | mail | – | mail |');
    expect(page).toContain('| before its answer | – | – | event with its key |');
    expect(page).toContain('| while the call waits for the user | – | mail | – |');
  });

  it('counts the orders by place and effect, and lists all other attacks', () => {
    expect(page).toContain('| title of a web page | 1 |');
    expect(page).toContain('2 orders in texts');
    expect(page).toContain('- Asks for what was read in an earlier turn.');
  });

  it('names other failures, and counts the tests', () => {
    expect(page).toContain('- Once if Postgres ends all connections.');
    expect(page).toContain('- Saved once if the runtime is killed.');
    expect(page).toContain('on 1 December 2026, 9 of 9 passed');
  });

  it('is not written if a test failed', () => {
    const failed = { ...RESULTS, ownData: [result('is saved once if it rains', 'failed')] };
    expect(() => guaranteesPage(failed, 'today')).toThrow('Tests failed: is saved once if it rains');
  });

  it('has only moments that the tests still have', () => {
    const folder = join(repositoryRoot, 'services/local/src');
    const tests = readdirSync(folder)
      .filter((name) => name.endsWith('.int.test.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('\n');
    const written = readFileSync(join(repositoryRoot, 'docs/guarantees.md'), 'utf8');
    const [, table = ''] = /\n\| moment[^\n]*\n[^\n]*\n((?:\|[^\n]*\n)+)/.exec(written) ?? [];
    const moments = table.split('\n').flatMap((row) => row.split('|')[1]?.trim() || []);
    expect(moments.length).toBeGreaterThan(5);
    const kept = moments.filter((moment) => tests.includes(moment) || moment === 'while the call waits for the user');
    expect(kept).toEqual(moments);
  });
});
