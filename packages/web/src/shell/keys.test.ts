import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { KEYS } from './keys.js';

it('lists the keys that docs/page.md lists', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/page.md'), 'utf8');
  const [, table = ''] = /\n## Keys\n([^]*?)\n\n[A-Z]/.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].map(([, keys, effect]) => [keys, effect]);
  // The first two rows are the head and its separator.
  expect(KEYS).toEqual(rows.slice(2));
});
