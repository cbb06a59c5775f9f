import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { compile } from './build.mjs';
import { artifactsFolder } from './e2e/artifacts.mjs';
import { provideCluster } from './e2e/cluster.mjs';
import { interruption } from './e2e/commands.mjs';
import { collectDiagnostics } from './e2e/diagnostics.mjs';
import { buildImages, prepareImages, readImagesFile, removeOtherImages, writeImagesFile } from './e2e/images.mjs';
import { artifactsRoot, withClusterLock } from './e2e/places.mjs';
import { buildPreviousImages, unpackPreviousRelease } from './e2e/previous-release.mjs';
import { readSettings } from './e2e/settings.mjs';
import { resultsFile, runProject, selectProjects, testVariables } from './e2e/tests.mjs';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';
import { tail } from './quiet.mjs';
import { RunError } from './run-error.mjs';
import { allPassed, runSteps, summary } from './steps.mjs';
import { failureReport, testFiles, timeReport } from './test-results.mjs';

const BUILD = 'build';
const DOCKER = 'docker and node image';
const CLUSTER = 'cluster';
const IMAGES = 'images';
const LOAD = 'load images';
const LEDGER = 'requirement ledger';

/** `npm run e2e`: the tests on a real cluster; e2e/settings.mjs has the usage. @returns the exit code */
export async function runE2e(args) {
  const settings = readSettings(args);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interruption.abort());
  return withClusterLock(() => runOnCluster(settings));
}

async function runOnCluster(settings) {
  const artifacts = artifactsFolder(artifactsRoot);
  /** Step results for later steps. */
  const state = { settings, artifacts, ledger: join(artifacts, 'ledger.jsonl'), ran: 0, skipped: 0 };
  try {
    const results = await runSteps(steps(state).map(interruptible));
    const ok = verdict(state, results);
    if (!ok && state.cluster) await explain(state);
    await release(state);
    const files = testFiles(selectProjects(settings).map(({ project }) => resultsFile(artifacts, project)));
    for (const line of [...timeReport(results, files), ...failureReport(files)]) console.log(line);
    console.log(summary(results, state.skipped));
    return ok ? 0 : 1;
  } catch (error) {
    await release(state);
    throw error;
  }
}

function steps(state) {
  const { settings } = state;
  const projects = selectProjects(settings).map((project) => projectStep(project, state));
  const complete = settings.all && settings.patterns.length === 0;
  const ledger = { name: LEDGER, needs: [LOAD, ...projects.map(({ name }) => name)], run: () => judgeLedger(state) };
  return [
    { name: BUILD, run: buildAll },
    { name: DOCKER, needs: [BUILD], run: () => provide(state) },
    { name: CLUSTER, needs: [DOCKER], concurrent: true, run: () => startCluster(state) },
    { name: IMAGES, needs: [DOCKER], concurrent: true, run: () => makeImages(state) },
    { name: LOAD, needs: [CLUSTER, IMAGES], run: () => loadImages(state) },
    ...projects,
    // Rows whose tests did not run are not judged.
    ...(complete ? [ledger] : []),
  ];
}

/** Reports a RunError without its stack, and does not start the step after the run was interrupted. */
function interruptible(step) {
  const run = async () => {
    if (interruption.signal.aborted) return { ok: false, output: 'The run was interrupted.' };
    try {
      return await step.run();
    } catch (error) {
      return { ok: false, output: error instanceof RunError ? error.message : String(error.stack) };
    }
  };
  return { ...step, run };
}

async function buildAll() {
  const { code, output } = await compile(['-b']);
  return { ok: code === 0, output: tail(output) };
}

async function provide(state) {
  // An earlier step builds it, so it cannot be imported at the top.
  const { kubeTools } = await import('../../packages/testkit/dist/kube-tools.js');
  if (!process.env.E2E_IMAGES_FILE) await prepareImages();
  state.tools = await kubeTools();
  state.provided = await provideCluster({ settings: state.settings, tools: state.tools, folder: artifactsRoot });
  return { ok: true };
}

async function startCluster(state) {
  state.cluster = await state.provided.start();
  return { ok: true };
}

async function makeImages(state) {
  const previous = await unpackPreviousRelease();
  state.previousChart = join(previous, 'charts/uswarm');
  if (state.provided.load) {
    const local = state.provided.localImages;
    // Upgrades are tested on one node.
    const before = state.settings.nodes === 1 ? await buildPreviousImages({ folder: previous, local }) : {};
    state.images = { ...(await buildImages({ local })), ...before };
    return { ok: true };
  }
  const file = process.env.E2E_IMAGES_FILE;
  if (!file)
    throw new RunError(
      'Images cannot be loaded into this cluster: set E2E_IMAGES_FILE to a file with images that it can pull.',
    );
  state.images = readImagesFile(file);
  return { ok: true };
}

async function loadImages(state) {
  const { provided, images, artifacts } = state;
  if (provided.load) {
    await provided.load(Object.values(images));
    await removeOtherImages(images);
  }
  state.imagesFile = writeImagesFile(images, artifacts);
  return { ok: true };
}

function projectStep(project, state) {
  const { settings, artifacts, ledger } = state;
  const name = `${project.project} tests`;
  const run = async () => {
    if (project.disruptive && !settings.disruptive) {
      state.skipped += 1;
      return { ok: true, output: '' };
    }
    const { disruptive, all, nodes } = settings;
    const variables = testVariables({ ...state, disruptive, all, nodes, ledger });
    const { ok, ran, skipped } = await runProject(project, { variables, artifacts });
    state.ran += ran;
    state.skipped += skipped;
    return { ok };
  };
  return { name, needs: [LOAD], run };
}

async function judgeLedger({ ledger }) {
  if (!existsSync(ledger)) return { ok: false, output: 'No tests ran.' };
  const report = join(repositoryRoot, 'packages/testkit/dist/ledger/report.js');
  const code = await runForeground(nodeBinary, [report, '--suite', 'e2e'], {
    cwd: repositoryRoot,
    env: { ...serviceEnvironment(), USWARM_LEDGER_FILE: ledger },
    interactive: false,
  });
  return { ok: code === 0 };
}

function verdict({ settings, ran, skipped }, results) {
  if (!allPassed(results)) return false;
  if (ran === 0) console.log('No tests ran: no test file matches.');
  if (settings.ci && skipped > 0) console.log('Skipped tests count as failures (CI=true).');
  return ran > 0 && !(settings.ci && skipped > 0);
}

async function explain({ cluster, tools, artifacts }) {
  console.log('Collecting diagnostics from the cluster…');
  const folder = join(artifacts, 'cluster');
  await collectDiagnostics({ cluster, tools, folder });
  console.log(`Diagnostics are in ${relative(process.cwd(), folder)}.`);
}

async function release({ provided, cluster, settings, tools }) {
  if (!provided) return;
  await provided.release();
  if (!settings.keep || settings.given || !cluster) return;
  const { kubeconfig } = cluster;
  const { DOCKER_HOST } = process.env;
  console.log(`The cluster keeps running. To use it:
  export KUBECONFIG=${kubeconfig} PATH=${join(tools.kubectl, '..')}:$PATH${DOCKER_HOST ? ` DOCKER_HOST=${DOCKER_HOST}` : ''}
\`npm run e2e -- --keep\` reuses it; without --keep the run deletes it at the end.`);
}
