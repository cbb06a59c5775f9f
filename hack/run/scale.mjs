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

export const SCALE_USAGE = `Usage: npm run scale -- [--swarms N] [--lift-limits] [--keep]
Measures the cost of many UserSwarms on simulated nodes.
  --swarms N      the number of UserSwarms; 1000 by default
  --lift-limits   remove the request limits of the cluster's own controllers and scheduler; the default limit of
                  20 requests per second per controller dominates the result
  --keep          keep the cluster, and reuse the one that an earlier run kept
${CLUSTER_USAGE}`;

const MOST = 20_000;

/** `npm run scale`: measures the cost of many UserSwarms; see the usage above. @returns the exit code */
export async function runScale(args) {
  const settings = readScaleSettings(args);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interruption.abort());
  return withClusterLock(() => runOnCluster(settings));
}

async function runOnCluster(settings) {
  const { swarms, limitsLifted } = settings;
  const artifacts = artifactsFolder(artifactsRoot);
  // The build runs after this file is loaded, so it cannot be imported at the top.
  const { kubeTools } = await import('../../packages/testkit/dist/kube-tools.js');
  const provided = await provideCluster({ settings, tools: await kubeTools(), folder: artifactsRoot });
  try {
    const { kubeconfig, context, auditLog } = await provided.start();
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
  const settings = { ...readClusterSettings(env, SCALE_USAGE), keep, limitsLifted, swarms: Number(swarms) };
  if (!Number.isInteger(settings.swarms) || settings.swarms < 1 || settings.swarms > MOST) {
    throw new RunError(`--swarms must be an integer from 1 to ${MOST}.\n\n${SCALE_USAGE}`);
  }
  if (limitsLifted && settings.given) {
    throw new RunError(`--lift-limits cannot be used with an existing cluster.\n\n${SCALE_USAGE}`);
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
    throw new RunError(`${error.message}\n\n${SCALE_USAGE}`);
  }
}
