import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { loadLedger } from './ledger.js';
import { withRequirementList } from './requirements-page.js';

const file = (name: string): URL => new URL(`../../../../docs/${name}`, import.meta.url);

it('docs/requirements.md has the list that `npm run generate` writes', async () => {
  const page = await readFile(file('requirements.md'), 'utf8');
  expect(withRequirementList(page, await loadLedger(file('requirements.json').pathname))).toBe(page);
});

it('the requirement list rejects a page without the begin marker', () => {
  expect(() => withRequirementList('# Requirements\n', [])).toThrow('The page has no line');
});
