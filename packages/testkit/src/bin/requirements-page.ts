import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { loadLedger } from '../ledger/ledger.js';
import { withRequirementList } from '../ledger/requirements-page.js';

const docs = fileURLToPath(new URL('../../../../docs', import.meta.url));
const page = `${docs}/requirements.md`;
const rows = await loadLedger(`${docs}/requirements.json`);
await writeFile(page, withRequirementList(await readFile(page, 'utf8'), rows));
