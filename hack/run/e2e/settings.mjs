import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { RunError } from '../run-error.mjs';

export const CLUSTER_USAGE = `The cluster is, as the variables say:
  KUBECONFIG and E2E_CONTEXT  a cluster that you have, by the name of its context; where its images cannot be loaded
                              from Docker, E2E_IMAGES_FILE names them (a file {"<name>": "<image>"}). Tests that take
                              parts of the release down, kill the API server, add nodes and give a node the address
                              of cloud metadata run on it only with E2E_DISRUPTIVE=1
  E2E_CLUSTER=kind            one made by kind from its public node image
  E2E_CLUSTER=built           one made by kind from a node image built from sources (Linux on x64, root)
  nothing                     the public one where it can be had, else the built one`;

const USAGE = `npm run e2e -- [--keep] [pattern of test files…]
  --keep   leaves the cluster there, and uses the one that is there
${CLUSTER_USAGE}`;

const CHOICES = ['auto', 'kind', 'built'];

/**
 * What a run is told by its arguments and environment.
 *
 * @typedef {object} Settings
 * @property {boolean} keep
 * @property {string[]} patterns of test files; none means all
 * @property {{ kubeconfig: string, context: string } | undefined} given a cluster that is not ours
 * @property {'auto' | 'kind' | 'built'} choice of a cluster of our own
 * @property {boolean} disruptive tests that take parts of the release down may run
 * @property {boolean} ci what is skipped is a failure
 */

/** @returns {Settings} @throws RunError with the usage */
export function readSettings(args, env = process.env) {
  const { keep, patterns } = readArguments(args);
  const { given, choice } = readClusterSettings(env, USAGE);
  return {
    keep,
    patterns,
    given,
    choice,
    // A cluster of our own is there to be disturbed.
    disruptive: env.E2E_DISRUPTIVE ? env.E2E_DISRUPTIVE === '1' : given === undefined,
    ci: env.CI === 'true',
  };
}

/** Which cluster the environment means. @throws RunError with the usage */
export function readClusterSettings(env, usage) {
  const choice = env.E2E_CLUSTER || 'auto';
  if (!CHOICES.includes(choice)) throw new RunError(`E2E_CLUSTER is one of ${CHOICES.join(', ')}.\n\n${usage}`);
  return { given: givenCluster(env), choice };
}

function readArguments(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { keep: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    return { keep: values.keep, patterns: positionals };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${USAGE}`);
  }
}

function givenCluster({ KUBECONFIG, E2E_CONTEXT }) {
  // A KUBECONFIG alone is no leave to run tests on whatever it points to.
  if (!E2E_CONTEXT) return undefined;
  const kubeconfig = resolve(KUBECONFIG || join(homedir(), '.kube/config'));
  if (!existsSync(kubeconfig)) throw new RunError(`E2E_CONTEXT is set, but there is no ${kubeconfig}.`);
  return { kubeconfig, context: E2E_CONTEXT };
}

/** The cluster of a checkout, so that two of them do not take each other's. */
export function clusterName(root) {
  return `uswarm-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`;
}

/** Folder outside of the checkout for what takes long to make. */
export function cacheFolder(env = process.env) {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'uswarm');
}
