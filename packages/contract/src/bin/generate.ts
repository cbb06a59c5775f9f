import { readFile, writeFile } from 'node:fs/promises';
import { generatedFiles } from '../documents/files.js';
import { CRD_FILE, crdText } from '../userswarm/crd-file.js';
import { REASONS_DOCUMENT, withReasonTables } from '../userswarm/reason-tables.js';

// Writes openapi.json and asyncapi.json next to package.json, the CRD of the chart, and the tables of reasons in
// docs/userswarm.md. Run it after a change of the schemas or of REASON_ADVICE.
const packageFolder = new URL('../../', import.meta.url);
for (const [name, text] of Object.entries(generatedFiles())) {
  await writeFile(new URL(name, packageFolder), text);
}

const repository = new URL('../../', packageFolder);
await writeFile(new URL(CRD_FILE, repository), crdText());

const document = new URL(REASONS_DOCUMENT, repository);
await writeFile(document, withReasonTables(await readFile(document, 'utf8')));
