import { delimiter, join } from 'node:path';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';

/**
 * Generators of checked-in files, which tests compare with their sources.
 */
const generators = [
  {
    what: 'openapi.json, asyncapi.json, the CRD and the tables of reasons',
    folder: 'packages/contract',
    command: nodeBinary,
    args: ['dist/bin/generate.js'],
  },
  { what: 'the code of the gRPC protocol', folder: 'packages/runtime-proto', command: 'buf', args: ['generate'] },
  {
    what: 'values.schema.json of the chart',
    folder: 'charts',
    command: nodeBinary,
    args: ['generate/values-schema.ts'],
  },
  {
    what: 'the types of the database tables',
    folder: 'services/orchestrator',
    command: nodeBinary,
    args: ['generate/tables.ts'],
  },
  {
    what: 'the list in docs/requirements.md',
    folder: 'packages/testkit',
    command: nodeBinary,
    args: ['dist/bin/requirements-page.js'],
  },
  {
    what: 'docs/dialects.md',
    folder: 'packages/dev-servers',
    command: nodeBinary,
    args: ['dist/bin/dialects-page.js'],
  },
  // Last, because it needs Go.
  {
    what: 'README.md of the chart',
    folder: 'packages/testkit',
    command: nodeBinary,
    args: ['dist/bin/chart-readme.js'],
  },
];

/** @returns the first exit code that is not 0 */
export async function generate() {
  for (const { what, folder, command, args } of generators) {
    console.log(`Generating ${what} (${folder})`);
    const code = await runIn(folder, command, args);
    if (code !== 0) return code;
  }
  return 0;
}

/** Runs oxfmt on the given paths, or on all files. */
export function formatSources(args) {
  return runIn('.', 'oxfmt', args);
}

function runIn(folder, command, args) {
  const cwd = join(repositoryRoot, folder);
  const env = serviceEnvironment();
  const bins = [join(cwd, 'node_modules/.bin'), join(repositoryRoot, 'node_modules/.bin')];
  const PATH = [...bins, env.PATH].join(delimiter);
  // `env` searches the given PATH; spawn would search ours.
  return runForeground('env', [command, ...args], { cwd, env: { ...env, PATH }, interactive: false });
}
