import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, repositoryRoot, serviceEnvironment } from '../environment.mjs';
import { runForeground } from '../foreground.mjs';

/** No project takes longer than this, so that a test that hangs still leaves its diagnostics. */
const LIMIT_MS = 60 * 60_000;

/**
 * jest's projects in their order. Files of one mostly wait, so that more of them than cores run side by side.
 * What `disturbs` others runs only where that is allowed.
 */
export const PROJECTS = [
  { project: 'cluster', workers: '--maxWorkers=4' },
  { project: 'scale', workers: '--runInBand', disturbs: true },
  { project: 'platform', workers: '--maxWorkers=8' },
  { project: 'disruptive', workers: '--runInBand', disturbs: true },
  { project: 'uninstall', workers: '--runInBand', disturbs: true },
];

/**
 * Runs the test files of one project.
 *
 * @returns {Promise<{ ok: boolean, ran: number, skipped: number }>} numbers of tests
 */
export async function runProject({ project, workers }, { patterns, variables, artifacts }) {
  const outputFile = join(artifacts, `jest-${project}.json`);
  const jest = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  const options = ['--config', 'e2e/jest.config.js', '--selectProjects', project, workers, '--passWithNoTests'];
  const code = await runForeground(
    nodeBinary,
    // Patterns first: --selectProjects would take them for projects.
    [...jest, ...patterns, ...options, '--json', `--outputFile=${outputFile}`],
    {
      cwd: repositoryRoot,
      env: { ...serviceEnvironment(), ...variables },
      // What jest prints for people is on its standard error, the JSON only in the file.
      stdio: ['inherit', 'ignore', 'inherit'],
      interactive: true,
      timeout: LIMIT_MS,
    },
  );
  return { ok: code === 0, ...(existsSync(outputFile) ? counts(JSON.parse(readFileSync(outputFile, 'utf8'))) : NONE) };
}

const NONE = { ran: 0, skipped: 0 };

/** Of jest's own results. */
export function counts({ numTotalTests, numPendingTests, numTodoTests }) {
  const skipped = numPendingTests + numTodoTests;
  return { ran: numTotalTests - skipped, skipped };
}

/** What tests are told of the cluster. */
export function testVariables({ cluster, imagesFile, previousChart, artifacts, disruptive, ledger }) {
  return {
    E2E_KUBECONFIG: cluster.kubeconfig,
    E2E_CONTEXT: cluster.context,
    E2E_IMAGES_FILE: imagesFile,
    E2E_PREVIOUS_CHART: previousChart,
    ...(cluster.edgePort && { E2E_EDGE_PORT: cluster.edgePort }),
    ...(cluster.auditLog && { E2E_AUDIT_LOG: cluster.auditLog }),
    E2E_DISRUPTIVE: disruptive ? '1' : '0',
    E2E_ARTIFACTS: artifacts,
    ...(ledger && { USWARM_LEDGER_FILE: ledger }),
  };
}
