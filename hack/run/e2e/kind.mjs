import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunError } from '../run-error.mjs';
import { mustRun, run } from './commands.mjs';
import { connectNodes } from './node-network.mjs';
import { auditPolicy, EDGE_NODE_PORT, kindConfig } from './kind-config.mjs';

/**
 * A test cluster.
 *
 * @typedef {object} Cluster
 * @property {string} kubeconfig
 * @property {string} context
 * @property {string | undefined} node name of its container if it runs in Docker
 * @property {string | undefined} edgePort edge port on the loopback interface
 * @property {string | undefined} auditLog file
 */

/**
 * Manages a kind cluster; its files are in `folder`.
 *
 * @param {{ kind: string, kubectl: string, name: string, image: string, folder: string, nodes?: number, limitsLifted?: boolean,
 *   report?: (line: string) => void }} deps
 */
export function createKindCluster({
  kind,
  kubectl,
  name,
  image,
  folder,
  nodes = 1,
  limitsLifted,
  report = console.log,
}) {
  const kubeconfig = join(folder, 'kubeconfig');
  const policyFolder = join(folder, 'audit-policy');
  const logFolder = join(folder, 'audit-log');
  const auditLog = join(logFolder, 'audit.log');
  const made = join(folder, 'made.json');
  const config = kindConfig({ policyFolder, logFolder, nodes, limitsLifted });
  const identity = JSON.stringify({ image, config, auditPolicy });
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  // kind's names: worker, worker2, …
  const workers = Array.from({ length: nodes - 1 }, (_, index) => `${name}-worker${index === 0 ? '' : index + 1}`);
  const containers = [`${name}-control-plane`, ...workers];

  /** @returns {Promise<Cluster>} */
  async function describe() {
    const node = `${name}-control-plane`;
    return { kubeconfig, context: `kind-${name}`, node, auditLog, edgePort: await nodePort(node) };
  }

  /** @returns {Promise<Cluster | undefined>} a previous run's cluster if it has the same configuration */
  async function existing() {
    if (!existsSync(made) || readFileSync(made, 'utf8') !== identity) return undefined;
    const ready = await run(kubectl, ['get', '--raw', '/readyz', '--request-timeout=5s'], { env });
    return ready.code === 0 ? describe() : undefined;
  }

  async function create() {
    await remove();
    mkdirSync(policyFolder, { recursive: true });
    mkdirSync(logFolder, { recursive: true });
    writeFileSync(join(policyFolder, 'policy.json'), JSON.stringify(auditPolicy));
    // The API server appends to an existing file, which keeps the mode that lets this process read it.
    writeFileSync(auditLog, '');
    chmodSync(auditLog, 0o666);
    writeFileSync(join(folder, 'kind.json'), config);
    const args = ['create', 'cluster', '--name', name, '--image', image, '--config', join(folder, 'kind.json')];
    // Images are built at the same time.
    await mustRun(kind, [...args, '--wait', '300s'], {
      env,
      limitS: 480,
      failure: 'kind could not create the cluster',
    });
    // kind's policy would start an interrupted run's node with the next Docker daemon.
    await mustRun('docker', ['update', '--restart=no', ...containers], { limitS: 30 });
    if (nodes > 1) await connectNodes({ kubectl, env });
    await settled();
    writeFileSync(made, identity);
    return describe();
  }

  /** Waits until DNS, network policies and service accounts work. */
  async function settled() {
    const wait = ['-n', 'kube-system', 'wait', 'pods', '--all', '--for=condition=Ready', '--timeout=120s'];
    await mustRun(kubectl, wait, { env, limitS: 150, failure: "The cluster's own pods do not become Ready" });
    const account = ['-n', 'default', 'wait', 'serviceaccount/default', '--for=create', '--timeout=60s'];
    await mustRun(kubectl, account, { env, limitS: 90 });
  }

  async function remove() {
    rmSync(made, { force: true });
    await mustRun(kind, ['delete', 'cluster', '--name', name], {
      env,
      limitS: 120,
      signal: undefined,
      failure: 'The cluster could not be deleted',
    });
    // Root in the node writes it. If we are not root, the next cluster appends to it.
    rmSync(kubeconfig, { force: true });
  }

  async function load(images) {
    report(`  loading ${images.length} images`);
    await mustRun(kind, ['load', 'docker-image', ...images, '--name', name], {
      env,
      limitS: 300 * nodes,
      failure: 'The images could not be loaded into the nodes',
    });
  }

  return { existing, create, remove, load };
}

/** @returns the edge's local port, or undefined */
async function nodePort(node) {
  const { code, output } = await run('docker', ['port', node, `${EDGE_NODE_PORT}/tcp`]);
  return code === 0 ? /:(\d+)\s*$/m.exec(output)?.[1] : undefined;
}

/** An existing cluster. @returns {Promise<Cluster>} @throws RunError */
export async function givenCluster({ kubeconfig, context }, kubectl, env = process.env) {
  const target = [`--kubeconfig=${kubeconfig}`, `--context=${context}`];
  const { code, output } = await run(kubectl, [...target, 'get', '--raw', '/readyz', '--request-timeout=10s']);
  if (code !== 0) throw new RunError(`${output.trim()}\n\nThe cluster "${context}" of ${kubeconfig} is unreachable.`);
  const node = await kindNode(context);
  const edgePort = env.E2E_EDGE_PORT || (node && (await nodePort(node)));
  return { kubeconfig, context, node, edgePort, auditLog: env.E2E_AUDIT_LOG };
}

async function kindNode(context) {
  if (!context.startsWith('kind-')) return undefined;
  const node = `${context.slice('kind-'.length)}-control-plane`;
  return (await run('docker', ['inspect', '--type', 'container', node])).code === 0 ? node : undefined;
}
