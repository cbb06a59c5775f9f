import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { RunError } from '../run-error.mjs';

export const CLUSTER_USAGE = `Environment variables that select the cluster:
  KUBECONFIG and E2E_CONTEXT  an existing cluster, by the name of its context. If images cannot be loaded into it from
                              Docker, E2E_IMAGES_FILE names them (a file {"<name>": "<image>"}). Tests that take parts
                              of the release down, kill the API server, add nodes or give a node the address of cloud
                              metadata run on it only with E2E_DISRUPTIVE=1
  E2E_CLUSTER=kind            a new kind cluster with the public node image
  E2E_CLUSTER=built           a new kind cluster with a node image built from sources (Linux on x64, root)
  none of these               E2E_CLUSTER=kind if the public node image is available, else E2E_CLUSTER=built`;

export const E2E_USAGE = `Usage: npm run e2e -- [--all | --nodes 3] [--keep] [pattern…]
Runs the core tests; with patterns, the test files that match one of them.
  --all      run all tests, including the disruptive ones and the scale test
  --nodes 3  run the tests that drain and stop nodes, on a new kind cluster with three nodes in three zones
  --keep     keep the cluster, and reuse the one that an earlier run kept
${CLUSTER_USAGE}`;

/** Possible node counts for a new cluster. */
const NODE_COUNTS = ['1', '3'];

const CHOICES = ['auto', 'kind', 'built'];

/**
 * A run's settings, from its arguments and environment.
 *
 * @typedef {object} Settings
 * @property {boolean} all run all tests rather than the core
 * @property {boolean} keep
 * @property {number} nodes in the cluster
 * @property {string[]} test file patterns; none selects the core or all tests
 * @property {{ kubeconfig: string, context: string } | undefined} given an existing cluster
 * @property {'auto' | 'kind' | 'built'} choice how to create a cluster when none is given
 * @property {boolean} disruptive tests that take release parts down may run
 * @property {boolean} ci skipped tests are failures
 */

/** @returns {Settings} @throws RunError with the usage */
export function readSettings(args, env = process.env) {
  const { all, keep, nodes, patterns } = readArguments(args);
  const { given, choice } = readClusterSettings(env, E2E_USAGE);
  if (!NODE_COUNTS.includes(nodes))
    throw new RunError(`--nodes must be one of ${NODE_COUNTS.join(', ')}.\n\n${E2E_USAGE}`);
  if (nodes !== '1' && (all || given !== undefined)) {
    throw new RunError(`--nodes needs its own cluster, and cannot be used with --all.\n\n${E2E_USAGE}`);
  }
  return {
    all,
    keep,
    nodes: Number(nodes),
    patterns,
    given,
    choice,
    // A cluster that the run creates has no other users.
    disruptive: env.E2E_DISRUPTIVE ? env.E2E_DISRUPTIVE === '1' : given === undefined,
    ci: env.CI === 'true',
  };
}

/** The cluster that the environment selects. @throws RunError with the usage */
export function readClusterSettings(env, usage) {
  const choice = env.E2E_CLUSTER || 'auto';
  if (!CHOICES.includes(choice)) throw new RunError(`E2E_CLUSTER must be one of ${CHOICES.join(', ')}.\n\n${usage}`);
  return { given: givenCluster(env), choice };
}

function readArguments(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: {
        all: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        nodes: { type: 'string', default: '1' },
      },
      allowPositionals: true,
    });
    return { ...values, patterns: positionals };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${E2E_USAGE}`);
  }
}

function givenCluster({ KUBECONFIG, E2E_CONTEXT }) {
  // KUBECONFIG alone does not permit tests on its current cluster.
  if (!E2E_CONTEXT) return undefined;
  const kubeconfig = resolve(KUBECONFIG || join(homedir(), '.kube/config'));
  if (!existsSync(kubeconfig)) throw new RunError(`E2E_CONTEXT is set, but ${kubeconfig} does not exist.`);
  return { kubeconfig, context: E2E_CONTEXT };
}

/** Cluster name by checkout: each checkout has its own. */
export function clusterName(root) {
  return `uswarm-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`;
}

/** Folder outside the checkout for files that take long to build. */
export function cacheFolder(env = process.env) {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'uswarm');
}
