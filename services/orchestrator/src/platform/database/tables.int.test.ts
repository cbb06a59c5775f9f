import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tableTypes } from '../../../generate/tables.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';

describe('tables.ts', () => {
  let migrated: MigratedDatabase;
  beforeAll(async () => {
    migrated = await createMigratedDatabase();
  });
  afterAll(() => migrated.close());

  it('equals what `npm run generate` writes for the migrated database', async () => {
    const checkedIn = readFileSync(new URL('tables.ts', import.meta.url), 'utf8');
    expect(await tableTypes(migrated.url)).toBe(checkedIn);
  });
});
