import { delimiter, join } from 'node:path';
import { build, compile } from './build.mjs';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';

/** Generated sources that the build itself needs. */
const beforeBuild = [
  {
    what: 'the time zones of Windows',
    folder: 'packages/contract',
    command: nodeBinary,
    args: ['generate/windows-zones.ts'],
  },
  { what: 'the code of the gRPC protocol', folder: 'packages/runtime-proto', command: 'buf', args: ['generate'] },
];

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
  {
    what: 'the types of the client',
    folder: 'packages/client',
    command: nodeBinary,
    args: ['generate/types.ts'],
  },
  {
    what: 'values.schema.json, and the lists of model providers and tool servers, of the chart',
    folder: 'charts',
    command: nodeBinary,
    args: ['generate/chart-files.ts'],
  },
  {
    what: 'the types of the database tables',
    folder: 'services/orchestrator',
    command: nodeBinary,
    args: ['generate/tables.ts'],
  },
  {
    what: 'the vendors in docs/connections.md',
    folder: 'services/orchestrator',
    command: nodeBinary,
    args: ['generate/vendors.ts'],
  },
  {
    what: 'the list in docs/requirements.md',
    folder: 'packages/testkit',
    command: nodeBinary,
    args: ['dist/bin/requirements-page.js'],
  },
  {
    what: 'the scenarios in docs/client-conformance.md',
    folder: 'packages/client-conformance',
    command: nodeBinary,
    args: ['dist/bin/page.js'],
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

/** @returns the first exit code that is not 0 @throws RunError if the build fails afterwards */
export async function generate() {
  const early = await runAll(beforeBuild);
  if (early !== 0) return early;
  // Types that depend on a stale generated file do not match yet, but the generators run nevertheless.
  await compile(['-b']);
  const code = await runAll(generators);
  if (code === 0) await build();
  return code;
}

async function runAll(list) {
  for (const { what, folder, command, args } of list) {
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
