import { join } from 'node:path';
import { repositoryRoot } from '../environment.mjs';
import { RunError } from '../run-error.mjs';
import { mustRun } from './commands.mjs';
import { findDocker } from './docker.mjs';
import { createKindCluster, givenCluster } from './kind.mjs';
import { reportLines, builtNodeImage } from './node-image.mjs';
import { kindProgram, publicNodeImage } from './public-kind.mjs';
import { clusterName } from './settings.mjs';

/**
 * A run's cluster, with functions to start it, to load images and to release it.
 *
 * @typedef {object} Provided
 * @property {() => Promise<import('./kind.mjs').Cluster>} start images can be built meanwhile
 * @property {boolean} localImages whether images are built without a registry
 * @property {((images: string[]) => Promise<void>) | undefined} load undefined if the run does not manage the cluster
 * @property {() => Promise<void>} release
 */

/**
 * Provides Docker and a node image, or selects an existing cluster.
 *
 * @returns {Promise<Provided>} @throws RunError
 */
export async function provideCluster({ settings, tools, folder, report = console.log }) {
  if (settings.given) return provideGiven(settings.given, tools);
  const docker = await findDocker({ report });
  try {
    const { kind, image, built } = await chooseNode(settings.choice, { docker, tools, folder, report });
    const name = clusterName(repositoryRoot);
    const { limitsLifted, nodes } = settings;
    const ours = createKindCluster({
      kind,
      image,
      name,
      kubectl: tools.kubectl,
      folder: join(folder, 'cluster'),
      nodes,
      limitsLifted,
      report,
    });
    const start = async () => {
      const kept = settings.keep ? await ours.existing() : undefined;
      if (kept) report(`  using the existing cluster ${name}`);
      return kept ?? (await createOrRemove(ours));
    };
    const release = async () => {
      if (!settings.keep) await ours.remove();
      await docker.release();
    };
    return { start, localImages: built, load: ours.load, release };
  } catch (error) {
    await docker.release();
    throw error;
  }
}

async function createOrRemove(ours) {
  try {
    return await ours.create();
  } catch (error) {
    await ours.remove();
    throw error;
  }
}

async function provideGiven(given, { kubectl, kind = 'kind' }) {
  const cluster = await givenCluster(given, kubectl);
  const load = cluster.node && loadBy(kind, given.context.slice('kind-'.length));
  return { start: async () => cluster, localImages: false, load, release: async () => {} };
}

function loadBy(kind, name) {
  return (images) => mustRun(kind, ['load', 'docker-image', ...images, '--name', name], { limitS: 300 });
}

/** @returns {Promise<{ kind: string, image: string, built: boolean }>} */
async function chooseNode(choice, { docker, tools, folder, report }) {
  // A Docker that this run started has no registry.
  const tryPublic = choice === 'kind' || (choice === 'auto' && !docker.own);
  const image = tryPublic ? await publicNodeImage({ report }) : undefined;
  if (image) return { kind: await kindProgram(), image, built: false };
  if (choice === 'kind') throw new RunError('The public node image of kind cannot be pulled.');
  if (process.platform !== 'linux' || process.arch !== 'x64' || process.getuid() !== 0) {
    throw new RunError(
      'The public node image of kind cannot be pulled, and one is built from sources only by root on Linux on x64.',
    );
  }
  const verify = (built) => verifyNode(built, { tools, folder, report });
  return { ...(await builtNodeImage({ report, verify })), built: true };
}

/** Verifies a new node image in a cluster. @throws RunError */
async function verifyNode({ kind, image, out }, { tools, folder, report }) {
  // A fixed name: a remaining cluster is replaced, and a concurrent build waits.
  const name = 'uswarm-verify';
  const trial = createKindCluster({
    kind,
    image,
    name,
    kubectl: tools.kubectl,
    folder: join(folder, 'verify'),
    report,
  });
  const { kubeconfig, edgePort } = await trial.create();
  try {
    const programs = `${join(kind, '..')}:${join(tools.kubectl, '..')}:${process.env.PATH}`;
    await mustRun(join(repositoryRoot, 'hack/cluster/verify.sh'), [], {
      env: {
        ...process.env,
        PATH: programs,
        KUBECONFIG: kubeconfig,
        OUT: out,
        CLUSTER_NAME: name,
        NODE_PORT: edgePort,
      },
      limitS: 400,
      failure: 'The new node image failed its verification',
      onOutput: reportLines(report),
    });
  } finally {
    await trial.remove();
  }
}
