import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@uswarm/dev-servers';
import { createCertificate } from '../certificate.js';
import { eventually } from '../eventually.js';
import type { KubePrograms } from './cached-programs.js';

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 10_000;
/** The node whose kubelet serves `logs`. */
export const TEST_NODE = 'node-1';

/** A real kube-apiserver with etcd. No controller, scheduler or kubelet runs: a test writes what those would write. */
export interface KubeApiServer {
  /** For a cluster administrator. */
  kubeconfig: string;
  /** For a user in the group `support`, who has no rights. */
  supportKubeconfig: string;
  /**
   * Logs that `TEST_NODE` has, by `<namespace>/<pod>/<container>`, with `?previous=true` appended for the previous run.
   * The API server reads them from the kubelet port.
   */
  logs: Map<string, string>;
  close(): Promise<void>;
}

export async function startKubeApiServer({ kube, etcd }: KubePrograms): Promise<KubeApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-kube-api-'));
  const started: { child: ChildProcess; log: string }[] = [];
  const run = (name: string, program: string, args: string[]): void => {
    const log = join(folder, `${name}.log`);
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr?.pipe(createWriteStream(log));
    started.push({ child, log });
  };
  const kubelet = await startLogServer();
  const close = async (): Promise<void> => {
    for (const { child } of started.toReversed()) await stop(child);
    await kubelet.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [port, client, peer] = [await freePort(), await freePort(), await freePort()];
    const store = `http://127.0.0.1:${client}`;
    run('etcd', etcd, [
      '--data-dir=etcd',
      '--unsafe-no-fsync',
      `--listen-client-urls=${store}`,
      `--advertise-client-urls=${store}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
    ]);
    await writeFile(join(folder, 'tokens.csv'), 'admin,admin,admin,system:masters\nsupport,sue,sue,support\n');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(join(folder, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
    run('kube-apiserver', kube, ['kube-apiserver', ...apiServerArguments(port, store)]);
    const server = `https://127.0.0.1:${port}`;
    await ready(server, started);
    const [kubeconfig, supportKubeconfig] = await Promise.all(
      ['admin', 'support'].map(async (token) => {
        const file = join(folder, `${token}.kubeconfig`);
        await writeFile(file, JSON.stringify(kubeconfigOf(server, token)));
        return file;
      }),
    );
    await registerNode(server, kubelet.port);
    return { kubeconfig: kubeconfig ?? '', supportKubeconfig: supportKubeconfig ?? '', logs: kubelet.logs, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const apiServerArguments = (port: number, store: string): string[] => [
  `--etcd-servers=${store}`,
  `--secure-port=${port}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  '--cert-dir=certificates',
  '--service-account-issuer=https://kubernetes.test',
  '--service-account-key-file=sa.key',
  '--service-account-signing-key-file=sa.key',
  '--service-cluster-ip-range=10.0.0.0/24',
  '--token-auth-file=tokens.csv',
  '--authorization-mode=RBAC',
  // No controller creates service accounts.
  '--disable-admission-plugins=ServiceAccount',
  '--kubelet-preferred-address-types=InternalIP',
];

const kubeconfigOf = (server: string, token: string): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
  users: [{ name: token, user: { token } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: token } }],
  'current-context': 'test',
});

async function ready(server: string, started: readonly { child: ChildProcess; log: string }[]): Promise<void> {
  await eventually(
    async () => {
      for (const { child, log } of started) {
        if (child.exitCode !== null) throw new Error(`a program ended: ${(await readFile(log, 'utf8')).slice(-2_000)}`);
      }
      return (await call(server, 'GET', '/readyz').catch(() => 0)) === 200 ? true : undefined;
    },
    { description: 'a ready kube-apiserver', timeoutMs: START_TIMEOUT_MS },
  );
}

async function call(server: string, method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<number> {
  const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' };
  const sent = request(`${server}${path}`, { method, headers, rejectUnauthorized: false });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

async function registerNode(server: string, port: number): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: TEST_NODE } };
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  const statuses = [
    await call(server, 'POST', '/api/v1/nodes', node),
    await call(server, 'PUT', `/api/v1/nodes/${TEST_NODE}/status`, { ...node, status }),
  ];
  if (statuses.join(' ') !== '201 200') throw new Error(`the node was not registered: ${statuses.join(', ')}`);
}

/** Answers `/containerLogs/<namespace>/<pod>/<container>` as a kubelet does. */
async function startLogServer() {
  const logs = new Map<string, string>();
  const { certificate, key } = await createCertificate('kubelet.test');
  const server = createServer({ cert: certificate, key }, (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'https://kubelet');
    const run = searchParams.get('previous') === 'true' ? '?previous=true' : '';
    const log = logs.get(`${pathname.replace('/containerLogs/', '')}${run}`);
    if (log === undefined) response.writeHead(400).end('previous terminated container not found');
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(log);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { logs, port: (server.address() as AddressInfo).port, close };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await closed;
  clearTimeout(timer);
}
