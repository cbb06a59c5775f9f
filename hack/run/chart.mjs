import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { annotateChart } from '../artifact-hub/annotate-chart.mjs';
import { repositoryRoot } from './environment.mjs';
import { runQuietly } from './quiet.mjs';
import { RunError } from './run-error.mjs';

export const CHART_USAGE = `Usage: npm run chart -- [options]
  --out FOLDER         folder of the packaged chart (default: dist/charts)
  --version VERSION    version of the chart (default: that of Chart.yaml)
  --registry REGISTRY  default registry of the chart's images, which adds Artifact Hub's annotations
  --sign NAME          sign the chart with the OpenPGP key of this name, and write a provenance file
  --keyring FILE       file with the key, not armored (gpg --export-secret-keys > FILE)
  --passphrase-file F  file with the passphrase of the key
  --push oci://REPO    push both files to an OCI registry to which helm is logged in
  --plain-http         use http, for a registry on this machine`;

/** `npm run chart`: packages the chart, and optionally signs and pushes it. @returns the exit code */
export async function chart(args) {
  for (const line of await packChart(parseOptions(args))) console.log(line);
  return 0;
}

/** @throws RunError with the usage */
export function parseOptions(args) {
  const names = ['out', 'version', 'registry', 'sign', 'keyring', 'passphrase-file', 'push'];
  const known = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const flags = { 'plain-http': { type: 'boolean' } };
  try {
    const { values } = parseArgs({ args, options: { ...known, ...flags }, allowPositionals: false });
    const empty = names.find((name) => values[name]?.trim() === '');
    if (empty !== undefined) throw new Error(`--${empty} has no value.`);
    if ((values.sign === undefined) !== (values.keyring === undefined)) {
      throw new Error('--sign and --keyring must be used together.');
    }
    if (values.push !== undefined && !/^oci:\/\/[^/]/.test(values.push)) {
      throw new Error(`--push must start with oci://, not ${values.push}.`);
    }
    return { ...values, out: values.out ?? join(repositoryRoot, 'dist/charts') };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${CHART_USAGE}`);
  }
}

/** @returns the output of helm. @throws RunError */
export async function packChart({ out, push, registry, ...options }) {
  const { kubeTools } = await import('../../packages/testkit/dist/kube-tools.js');
  const { helm } = await kubeTools();
  const draft = mkdtempSync(join(tmpdir(), 'uswarm-chart-'));
  let packed;
  try {
    const folder = join(draft, 'uswarm');
    cpSync(join(repositoryRoot, 'charts/uswarm'), folder, { recursive: true });
    if (registry !== undefined) {
      setRegistry(join(folder, 'values.yaml'), registry);
      await annotateChart({ folder, helm, registry });
    }
    packed = await run(helm, ['package', folder, '-d', out, ...signing(options)]);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const file = /saved it to: (.+)$/m.exec(packed)[1];
  if (push === undefined) return [file];
  const pushed = await run(helm, ['push', file, push, ...(options['plain-http'] ? ['--plain-http'] : [])]);
  return [file, ...pushed.split('\n').filter((line) => /^(Pushed|Digest):/.test(line))];
}

/** Sets the default of `images.registry`, which is empty in this repository. */
function setRegistry(file, registry) {
  const [before, after] = [
    "  registry: ''\n  # -- Registry that replaces",
    `  registry: ${JSON.stringify(registry)}\n  # -- Registry that replaces`,
  ];
  const values = readFileSync(file, 'utf8');
  if (values.split(before).length !== 2) throw new Error('values.yaml has no empty images.registry');
  writeFileSync(file, values.replace(before, after));
}

function signing({ version, sign, keyring, 'passphrase-file': passphrase }) {
  return [
    ...(version === undefined ? [] : ['--version', version]),
    ...(sign === undefined ? [] : ['--sign', '--key', sign, '--keyring', keyring]),
    ...(passphrase === undefined ? [] : ['--passphrase-file', passphrase]),
  ];
}

async function run(helm, args) {
  const { code, output } = await runQuietly(helm, args, { cwd: repositoryRoot });
  if (code !== 0) throw new RunError(`helm ${args[0]} failed: ${output.trim()}`);
  return output;
}
