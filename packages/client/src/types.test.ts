import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { typesText } from '../generate/types.js';

it('src/gen/types.ts is up to date (else: npm run generate)', async () => {
  expect(await readFile(new URL('gen/types.ts', import.meta.url), 'utf8')).toBe(await typesText());
});
