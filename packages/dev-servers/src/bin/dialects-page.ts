import { writeFile } from 'node:fs/promises';
import { dialects } from '../model/dialects/index.js';
import { dialectsPage } from '../model/dialects/page.js';

// Generates docs/dialects.md from the dialects of the model server.
await writeFile(new URL('../../../../docs/dialects.md', import.meta.url), dialectsPage(dialects));
