import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chartReadme } from '../go/chart-programs.js';
import { LocalError } from '../local-error.js';

// Writes README.md of the chart; run it after a change of its values.yaml or README.md.gotmpl.
const chart = fileURLToPath(new URL('../../../../charts/uswarm', import.meta.url));
try {
  await writeFile(`${chart}/README.md`, await chartReadme(chart));
} catch (error) {
  if (!(error instanceof LocalError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
