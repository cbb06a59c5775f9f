import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { chartAnnotations } from './annotations.mjs';

const EVERYTHING = join(repositoryRoot, 'charts/uswarm/ci/everything-values.yaml');

/**
 * Writes annotations for Artifact Hub into a chart's copy.
 *
 * @param {object} options
 * @param {string} options.folder the copy
 * @param {string} options.helm
 * @param {string} options.registry for this project's images
 * @throws RunError
 */
export async function annotateChart({ folder, helm, registry }) {
  const { parse, parseDocument, stringify } = await import('yaml');
  const file = join(folder, 'Chart.yaml');
  const chart = parseDocument(readFileSync(file, 'utf8'));
  const args = ['template', 'uswarm', folder, '-f', EVERYTHING, '--set', `images.registry=${registry},images.mirror=`];
  const { code, output } = await runQuietly(helm, args, {});
  if (code !== 0) throw new RunError(`helm template failed: ${output.trim()}`);
  const annotations = chartAnnotations({
    changelog: readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8'),
    version: chart.get('version'),
    rendered: output,
    ownPrefix: `${registry}/`,
    crd: parse(readFileSync(join(repositoryRoot, 'crds/userswarms.uswarm.dev.yaml'), 'utf8')),
    stringify: (value) => stringify(value, { lineWidth: 0 }),
  });
  for (const [name, value] of Object.entries(annotations)) chart.setIn(['annotations', name], value);
  writeFileSync(file, chart.toString({ lineWidth: 0 }));
}
