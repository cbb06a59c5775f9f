import { type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http';
import { request as secureRequest, type RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { startRestartableServer } from './restartable-server.js';

export interface ProxiedRequest {
  method: string;
  /** Includes the query. */
  path: string;
}

export type Fault =
  /** The proxy responds instead of the API server. */
  | { kind: 'answer'; status: number; body: string }
  /** The proxy accepts requests and never responds; running responses stall. */
  | { kind: 'silence' }
  /** The proxy inserts a line into running streams. */
  | { kind: 'line'; text: string };

/** A proxy in front of a real API server that injects faults. */
export interface FaultProxy {
  /** Kubeconfig that uses the proxy. */
  config: KubeConfig;
  requests: readonly ProxiedRequest[];
  isWrite(request: ProxiedRequest): boolean;
  /** Applies a fault to matching requests, including running ones, until the returned function is called. */
  inject(matches: (request: ProxiedRequest) => boolean, fault: Fault): () => void;
  /** Closes all connections and refuses new ones, like an API server that restarts. */
  disconnect(): Promise<void>;
  restore(): Promise<void>;
  close(): Promise<void>;
}

interface Rule {
  matches: (request: ProxiedRequest) => boolean;
  fault: Fault;
}

interface RunningResponse {
  request: ProxiedRequest;
  response: ServerResponse;
  upstream: IncomingMessage;
}

export async function startFaultProxy(original: KubeConfig): Promise<FaultProxy> {
  const target = new URL(original.getCurrentCluster()?.server ?? '');
  const requests: ProxiedRequest[] = [];
  const rules = new Set<Rule>();
  const running = new Set<RunningResponse>();

  const forward = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    request: ProxiedRequest,
  ): Promise<void> => {
    const options: RequestOptions = {};
    await original.applyToHTTPSOptions(options);
    const headers = { ...incoming.headers, ...options.headers, host: target.host };
    const send = target.protocol === 'https:' ? secureRequest : plainRequest;
    const outgoing = send(new URL(request.path, target), { ...options, method: request.method, headers });
    outgoing.once('error', () => response.destroy());
    outgoing.once('response', (upstream: IncomingMessage) => {
      const entry: RunningResponse = { request, response, upstream };
      running.add(entry);
      response.writeHead(upstream.statusCode ?? 502, upstream.headers);
      response.flushHeaders();
      // No pipe: ending it would end the response, which a silent fault must keep open.
      upstream.on('data', (chunk: Buffer) => {
        if (!isSilent(request)) response.write(chunk);
      });
      upstream.once('end', () => {
        if (!isSilent(request)) response.end();
      });
      upstream.once('error', () => response.destroy());
      response.once('close', () => {
        running.delete(entry);
        upstream.destroy();
      });
    });
    response.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const ruleFor = (request: ProxiedRequest): Rule | undefined => [...rules].find(({ matches }) => matches(request));
  const isSilent = (request: ProxiedRequest): boolean => ruleFor(request)?.fault.kind === 'silence';

  const server = await startRestartableServer((incoming, response) => {
    const request = { method: incoming.method ?? 'GET', path: incoming.url ?? '/' };
    requests.push(request);
    const fault = ruleFor(request)?.fault;
    if (fault?.kind === 'silence') return;
    if (fault?.kind === 'answer') {
      incoming.resume();
      response.writeHead(fault.status, { 'content-type': 'application/json' }).end(fault.body);
      return;
    }
    forward(incoming, response, request).catch(() => response.destroy());
  });
  return {
    config: plainConfig(server.port),
    requests,
    isWrite: ({ method }) => method !== 'GET',
    inject(matches, fault) {
      const rule = { matches, fault };
      rules.add(rule);
      for (const { request, response } of running) {
        if (!matches(request)) continue;
        if (fault.kind === 'line') response.write(`${fault.text}\n`);
        // The client receives the fault when it retries.
        else if (fault.kind === 'answer') response.destroy();
      }
      return () => void rules.delete(rule);
    },
    disconnect: () => server.close(),
    restore: () => server.open(),
    close: () => server.close(),
  };
}

/** Without TLS and credentials, which the proxy adds. */
function plainConfig(port: number): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'proxy', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'anonymous' },
  );
  return config;
}
