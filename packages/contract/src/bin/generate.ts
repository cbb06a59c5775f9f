import { mkdir, writeFile } from 'node:fs/promises';
import { generatedFiles } from '../documents/files.js';
import { CRD_FILES, crdText } from '../userswarm/crd-file.js';

// Writes openapi.json and asyncapi.json beside package.json, and the CRD where people and the chart
// look for it; run it after a change of the schemas.
const packageFolder = new URL('../../', import.meta.url);
for (const [name, text] of Object.entries(generatedFiles())) {
  await writeFile(new URL(name, packageFolder), text);
}

const repository = new URL('../../', packageFolder);
const crd = crdText();
for (const name of CRD_FILES) {
  const file = new URL(name, repository);
  await mkdir(new URL('.', file), { recursive: true });
  await writeFile(file, crd);
}
