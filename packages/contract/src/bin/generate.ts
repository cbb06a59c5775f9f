import { readFile, writeFile } from 'node:fs/promises';
import { generatedFiles } from '../documents/files.js';
import { CRD_FILES, crdText } from '../userswarm/crd-file.js';
import { REASONS_DOCUMENT, withReasonTables } from '../userswarm/reason-tables.js';

// Writes openapi.json and asyncapi.json next to package.json, the CRD in the chart and in crds/, and the reason tables
// in docs/userswarm.md. Run it after changes to the schemas or REASON_ADVICE.
const packageFolder = new URL('../../', import.meta.url);
for (const [name, text] of Object.entries(generatedFiles())) {
  await writeFile(new URL(name, packageFolder), text);
}

const repository = new URL('../../', packageFolder);
for (const file of CRD_FILES) await writeFile(new URL(file, repository), crdText());

const document = new URL(REASONS_DOCUMENT, repository);
await writeFile(document, withReasonTables(await readFile(document, 'utf8')));
