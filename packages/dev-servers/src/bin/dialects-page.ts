import { writeFile } from 'node:fs/promises';
import { dialects } from '../model/dialects/index.js';
import { dialectsPage } from '../model/dialects/page.js';

// Generates docs/dialects.md from the model server's dialects.
await writeFile(new URL('../../../../docs/dialects.md', import.meta.url), dialectsPage(dialects));
