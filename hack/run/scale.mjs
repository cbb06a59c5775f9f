import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { artifactsFolder } from './e2e/artifacts.mjs';
import { provideCluster } from './e2e/cluster.mjs';
import { interruption } from './e2e/commands.mjs';
import { artifactsRoot, withClusterLock } from './e2e/places.mjs';
import { CLUSTER_USAGE, readClusterSettings } from './e2e/settings.mjs';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';
import { RunError } from './run-error.mjs';

const USAGE = `npm run scale -- [--swarms N] [--lift-limits] [--keep]
  --swarms N      how many UserSwarms are made on simulated nodes; 1000 by default
  --lift-limits   the controllers of the cluster itself and its scheduler may ask the API server as often as they
                  like: by default they, with 20 requests a second each, are what most of the time is spent on
  --keep          leaves the cluster there, and uses the one that is there
${CLUSTER_USAGE}`;

const MOST = 20_000;

/** `npm run scale`: what so many UserSwarms cost, see the usage above. @returns exit code */
export async function runScale(args) {
  const settings = readScaleSettings(args);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interruption.abort());
  return withClusterLock(() => runOnCluster(settings));
}

async function runOnCluster(settings) {
  const { swarms, limitsLifted } = settings;
  const artifacts = artifactsFolder(artifactsRoot);
  // Built only now; not there yet when this file is loaded.
  const { kubeTools } = await import('../../packages/testkit/dist/kube-tools.js');
  const provided = await provideCluster({ settings, tools: await kubeTools(), folder: artifactsRoot });
  try {
    const { kubeconfig, context, auditLog } = provided.cluster;
    const options = JSON.stringify({ kubeconfig, context, auditLog, artifacts, swarms, limitsLifted });
    const program = join(repositoryRoot, 'e2e/dist/scale/measure-main.js');
    const code = await runForeground(nodeBinary, [program, options], { interactive: false, env: serviceEnvironment() });
    if (code === 0) console.log(`Report and logs are in ${relative(process.cwd(), artifacts)}.`);
    return code;
  } finally {
    await provided.release();
  }
}

/** @throws RunError with the usage */
export function readScaleSettings(args, env = process.env) {
  const { swarms, keep, 'lift-limits': limitsLifted } = readArguments(args);
  const settings = { ...readClusterSettings(env, USAGE), keep, limitsLifted, swarms: Number(swarms) };
  if (!Number.isInteger(settings.swarms) || settings.swarms < 1 || settings.swarms > MOST) {
    throw new RunError(`--swarms is a number from 1 to ${MOST}.\n\n${USAGE}`);
  }
  if (limitsLifted && settings.given) {
    throw new RunError(`--lift-limits is for a cluster that is made here, not for one that is given.\n\n${USAGE}`);
  }
  return settings;
}

function readArguments(args) {
  const options = {
    swarms: { type: 'string', default: '1000' },
    'lift-limits': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  };
  try {
    return parseArgs({ args, options, allowPositionals: false }).values;
  } catch (error) {
    throw new RunError(`${error.message}\n\n${USAGE}`);
  }
}
