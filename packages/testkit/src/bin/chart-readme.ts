import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { LocalError } from '@uswarm/dev-servers';
import { chartReadme } from '../go/chart-programs.js';

// Generates the chart's README.md from its values.yaml and README.md.gotmpl.
const chart = fileURLToPath(new URL('../../../../charts/uswarm', import.meta.url));
try {
  await writeFile(`${chart}/README.md`, await chartReadme(chart));
} catch (error) {
  if (!(error instanceof LocalError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
