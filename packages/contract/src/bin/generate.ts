import { writeFile } from 'node:fs/promises';
import { generatedFiles } from '../documents/files.js';

// Writes openapi.json and asyncapi.json beside package.json; run it after a change of the schemas.
const packageFolder = new URL('../../', import.meta.url);
for (const [name, text] of Object.entries(generatedFiles())) {
  await writeFile(new URL(name, packageFolder), text);
}
