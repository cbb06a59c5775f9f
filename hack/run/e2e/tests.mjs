import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JEST, nodeBinary, repositoryRoot, serviceEnvironment } from '../environment.mjs';
import { runForeground } from '../foreground.mjs';

/** The limit of one project, so that the run still collects diagnostics when a test hangs. */
const LIMIT_MS = 60 * 60_000;
/** The core must end within a CI run's limit, with the other projects and the diagnostics. */
const CORE_LIMIT_MS = 25 * 60_000;

/**
 * The projects of e2e/jest.config.js in their order, with the files that belong to the core. Test files mostly wait,
 * so a project has more workers than the machine has cores. A project that is `disruptive` runs only if that is allowed.
 */
export const PROJECTS = [
  { project: 'cluster', workers: '--maxWorkers=4', core: [] },
  { project: 'scale', workers: '--runInBand', disruptive: true, core: [] },
  {
    project: 'platform',
    workers: '--maxWorkers=8',
    core: [
      'e2e/platform/install.e2e.test.ts',
      'e2e/platform/main-job.e2e.test.ts',
      'e2e/platform/page.e2e.test.ts',
      'e2e/platform/model-gateway.e2e.test.ts',
      'e2e/platform/killed-turns.e2e.test.ts',
      'e2e/platform/suspended-approval.e2e.test.ts',
      'e2e/platform/pod-security.e2e.test.ts',
      'e2e/platform/attacks-admission.e2e.test.ts',
      'e2e/platform/attacks-network.e2e.test.ts',
      'e2e/platform/reasons-namespace.e2e.test.ts',
      'e2e/platform/reasons-pod.e2e.test.ts',
      'e2e/platform/reasons-spec.e2e.test.ts',
      'e2e/platform/drift.e2e.test.ts',
    ],
  },
  {
    project: 'disruptive',
    workers: '--runInBand',
    disruptive: true,
    core: ['e2e/platform/rollout.serial.e2e.test.ts'],
  },
  // A cluster with this many nodes has only these tests.
  { project: 'nodes', workers: '--runInBand', disruptive: true, nodes: 3, core: [] },
  {
    project: 'uninstall',
    workers: '--runInBand',
    disruptive: true,
    core: ['e2e/uninstall/uninstall.e2e.test.ts'],
  },
];

/**
 * The projects to run, each with its test file patterns. Patterns apply to all projects and take precedence over `all`;
 * without both only the core runs.
 */
export function selectProjects({ patterns, all, nodes = 1 }) {
  const fitting = PROJECTS.filter((project) => (project.nodes ?? 1) === nodes);
  if (patterns.length > 0 || all || nodes > 1) {
    return fitting.map((project) => ({ ...project, patterns, limitMs: LIMIT_MS }));
  }
  return fitting
    .filter(({ core }) => core.length > 0)
    .map((project) => ({
      ...project,
      limitMs: CORE_LIMIT_MS,
      patterns: project.core.map((file) => `/${file.replaceAll('.', String.raw`\.`)}$`),
    }));
}

/** File with jest's results for a project. */
export const resultsFile = (artifacts, project) => join(artifacts, `jest-${project}.json`);

/**
 * Runs the test files of one project.
 *
 * @returns {Promise<{ ok: boolean, ran: number, skipped: number }>} test counts
 */
export async function runProject({ project, workers, patterns, limitMs }, { variables, artifacts }) {
  const outputFile = resultsFile(artifacts, project);
  const selection = ['--config', 'e2e/jest.config.js', '--selectProjects', project, workers, '--passWithNoTests'];
  // A connection that a test file leaves open does not keep jest running after its last result.
  const options = [...selection, '--forceExit'];
  const code = await runForeground(
    nodeBinary,
    // Patterns come first: --selectProjects would read them as projects.
    [...JEST, ...patterns, ...options, '--json', `--outputFile=${outputFile}`],
    {
      cwd: repositoryRoot,
      env: { ...serviceEnvironment(), ...variables },
      // jest reports on its standard error; the JSON goes to the file only.
      stdio: ['inherit', 'ignore', 'inherit'],
      interactive: true,
      timeout: limitMs,
    },
  );
  return { ok: code === 0, ...(existsSync(outputFile) ? counts(JSON.parse(readFileSync(outputFile, 'utf8'))) : NONE) };
}

const NONE = { ran: 0, skipped: 0 };

/** Test counts from jest's results. */
export function counts({ numTotalTests, numPendingTests, numTodoTests }) {
  const skipped = numPendingTests + numTodoTests;
  return { ran: numTotalTests - skipped, skipped };
}

/** The variables that describe the cluster to tests. */
export function testVariables({ cluster, imagesFile, previousChart, artifacts, disruptive, all, nodes, ledger }) {
  return {
    E2E_KUBECONFIG: cluster.kubeconfig,
    E2E_CONTEXT: cluster.context,
    E2E_IMAGES_FILE: imagesFile,
    E2E_PREVIOUS_CHART: previousChart,
    ...(cluster.edgePort && { E2E_EDGE_PORT: cluster.edgePort }),
    ...(cluster.auditLog && { E2E_AUDIT_LOG: cluster.auditLog }),
    E2E_DISRUPTIVE: disruptive ? '1' : '0',
    E2E_ARTIFACTS: artifacts,
    E2E_NODES: String(nodes),
    ...(all && { USWARM_ALL_TESTS: '1' }),
    ...(ledger && { USWARM_LEDGER_FILE: ledger }),
  };
}
