import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withTables } from './page.js';
import { SCENARIOS } from './scenarios/index.js';

const page = readFileSync(join(import.meta.dirname, '../../../docs/client-conformance.md'), 'utf8');

describe('docs/client-conformance.md', () => {
  it('has the present scenarios', () => {
    expect(withTables(page)).toBe(page);
  });

  it('needs its two comments', () => {
    expect(() => withTables('# A page')).toThrow('The page has no');
  });
});

describe('the scenarios', () => {
  it('have different names', () => {
    expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  });
});
