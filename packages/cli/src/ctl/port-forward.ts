import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Failure } from '../failure.js';
import type { ClusterOptions } from './cluster.js';

const ORCHESTRATOR = 'app.kubernetes.io/part-of=uswarm,app.kubernetes.io/component=orchestrator';
/** The container's port. */
const INTERNAL = 'internal';
const FORWARDING = /^Forwarding from (127\.0\.0\.1:\d+) /;

/**
 * Reaches the internal API in a namespace with `kubectl port-forward`, which ends afterwards.
 *
 * @throws Failure with kubectl's reason
 */
export async function throughPortForward<Result>(
  namespace: string,
  { kubeconfig, context }: ClusterOptions,
  env: NodeJS.ProcessEnv,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const cluster = [
    ...(kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]),
    ...(context === undefined ? [] : ['--context', context]),
    '--namespace',
    namespace,
  ];
  const target = await findOrchestrator(namespace, cluster, env);
  const kubectl = spawn('kubectl', [...cluster, 'port-forward', '--address=127.0.0.1', target, `:${INTERNAL}`], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    return await use(`http://${await forwardedAddress(kubectl)}`);
  } finally {
    kubectl.kill();
  }
}

/** @returns a name such as deployment.apps/uswarm-orchestrator */
async function findOrchestrator(
  namespace: string,
  cluster: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const list = ['get', 'deployments', '--selector', ORCHESTRATOR, '--output=name'];
  const { stdout } = await promisify(execFile)('kubectl', [...cluster, ...list], { env }).catch(
    (cause: NodeJS.ErrnoException & { stderr?: string }) => {
      throw new Failure(reasonOf(cause, cause.stderr ?? ''), { cause });
    },
  );
  const [name, ...others] = stdout.split('\n').filter((line) => line !== '');
  if (name === undefined) throw new Failure(`No orchestrator in the namespace ${namespace}.`);
  if (others.length > 0) throw new Failure(`Several orchestrators in the namespace ${namespace}: set --url.`);
  return name;
}

async function forwardedAddress({ stdout, stderr }: { stdout: Readable; stderr: Readable }): Promise<string> {
  const reason = text(stderr);
  for await (const line of createInterface({ input: stdout })) {
    const [, address] = FORWARDING.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Failure(`kubectl failed: ${lastLine(await reason)}`);
}

function reasonOf({ code, message }: NodeJS.ErrnoException, stderr: string): string {
  if (code === 'ENOENT') return '--port-forward needs kubectl in PATH.';
  return `kubectl failed: ${lastLine(stderr) || message}`;
}

/** kubectl may print each of its attempts before. */
const lastLine = (printed: string): string => printed.trim().split('\n').at(-1) ?? '';
