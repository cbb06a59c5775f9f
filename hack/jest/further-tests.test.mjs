import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { FURTHER_TESTS } from './further-tests.mjs';

it('only existing files are left to --all', () => {
  expect(FURTHER_TESTS.filter((file) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
  expect(FURTHER_TESTS).toEqual([...new Set(FURTHER_TESTS)]);
});
