import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { generateCallKeys } from '@uswarm/service-kit';
import { programFile } from '@uswarm/testkit/program-file';

export interface WebhookPod {
  port: number;
  /** Sends SIGTERM and waits until the process has exited. */
  stop(): Promise<void>;
}

/** Simulates a Kubernetes Service: it distributes connections to webhook processes, as kube-proxy does to pods. */
export interface WebhookService {
  url: string;
  /** Starts the built program, which gets no connections until it is added to `pods`. */
  startPod(environment?: Record<string, string>): Promise<WebhookPod>;
  /** The pods for new connections; open connections are kept. */
  setEndpoints(pods: readonly WebhookPod[]): void;
  close(): Promise<void>;
}

export const SYNC_TOKEN = 'token-'.repeat(8);
const MAIN = programFile('services/uswarm-webhook/dist/main.js');

export async function startWebhookService(): Promise<WebhookService> {
  const policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n');
  const { publicKey } = generateCallKeys();
  const processes: ChildProcess[] = [];
  const sockets = new Set<Socket>();
  let endpoints: readonly WebhookPod[] = [];
  let connections = 0;
  const server = createServer((client) => {
    const pod = endpoints[(connections += 1) % endpoints.length];
    if (pod === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(pod.port, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket.on('error', () => other.destroy()).once('close', () => sockets.delete(socket)));
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sync`,
    async startPod(environment = {}) {
      const pod = spawn(process.execPath, [MAIN], {
        env: {
          SYNC_TOKEN,
          HTTP_PORT: '0',
          OPS_PORT: '0',
          NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
          POLICY_DIRECTORY: policy,
          USWARM_CALL_PUBLIC_KEY: publicKey,
          SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:1',
          SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator.test',
          SVC_MCP_ENDPOINT: 'http://mcp.test/mcp',
          ...environment,
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      processes.push(pod);
      const ended = once(pod, 'exit');
      const [line] = (await once(createInterface(pod.stdout), 'line')) as [string];
      const { port } = JSON.parse(line) as { port: number };
      return {
        port,
        async stop() {
          pod.kill('SIGTERM');
          await ended;
        },
      };
    },
    setEndpoints: (pods) => void (endpoints = pods),
    async close() {
      for (const each of processes) each.kill('SIGKILL');
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await rm(policy, { recursive: true });
    },
  };
}
