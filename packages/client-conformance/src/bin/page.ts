// Writes the tables into docs/client-conformance.md; see page.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTables } from '../page.js';

const file = join(import.meta.dirname, '../../../../docs/client-conformance.md');
writeFileSync(file, withTables(readFileSync(file, 'utf8')));
