import { type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http';
import { request as secureRequest, type RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { startRestartableServer } from './restartable-server.js';

/** One request that came by. */
export interface Passed {
  method: string;
  /** With its query. */
  path: string;
}

export type Fault =
  /** Answered by the proxy itself. */
  | { kind: 'answer'; status: number; body: string }
  /** Accepted, then nothing is said any more; of what runs already nothing more is passed on. */
  | { kind: 'silence' }
  /** Into the running stream, which then goes on as if nothing had been. */
  | { kind: 'line'; text: string };

/** A way to a real API server on which things go wrong when they are told to. */
export interface FaultProxy {
  /** The same cluster, by this way. */
  config: KubeConfig;
  passed: readonly Passed[];
  isWrite(passed: Passed): boolean;
  /** What happens to requests that match, the running ones too, until the returned function is called. */
  inject(matches: (passed: Passed) => boolean, fault: Fault): () => void;
  /** Ends every connection and refuses new ones, as an API server does that is being restarted. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

interface Rule {
  matches: (passed: Passed) => boolean;
  fault: Fault;
}

interface Running {
  passed: Passed;
  response: ServerResponse;
  upstream: IncomingMessage;
}

export async function startFaultProxy(original: KubeConfig): Promise<FaultProxy> {
  const target = new URL(original.getCurrentCluster()?.server ?? '');
  const passed: Passed[] = [];
  const rules = new Set<Rule>();
  const running = new Set<Running>();

  const forward = async (incoming: IncomingMessage, response: ServerResponse, seen: Passed): Promise<void> => {
    const options: RequestOptions = {};
    await original.applyToHTTPSOptions(options);
    const headers = { ...incoming.headers, ...options.headers, host: target.host };
    const send = target.protocol === 'https:' ? secureRequest : plainRequest;
    const outgoing = send(new URL(seen.path, target), { ...options, method: seen.method, headers });
    outgoing.once('error', () => response.destroy());
    outgoing.once('response', (upstream: IncomingMessage) => {
      const entry: Running = { passed: seen, response, upstream };
      running.add(entry);
      response.writeHead(upstream.statusCode ?? 502, upstream.headers);
      response.flushHeaders();
      // By hand, so that silence can be made of it: a pipe would end what it is taken off.
      upstream.on('data', (chunk: Buffer) => {
        if (!isSilent(seen)) response.write(chunk);
      });
      upstream.once('end', () => {
        if (!isSilent(seen)) response.end();
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
  const ruleFor = (seen: Passed): Rule | undefined => [...rules].find(({ matches }) => matches(seen));
  const isSilent = (seen: Passed): boolean => ruleFor(seen)?.fault.kind === 'silence';

  const server = await startRestartableServer((incoming, response) => {
    const seen = { method: incoming.method ?? 'GET', path: incoming.url ?? '/' };
    passed.push(seen);
    const fault = ruleFor(seen)?.fault;
    if (fault?.kind === 'silence') return;
    if (fault?.kind === 'answer') {
      incoming.resume();
      response.writeHead(fault.status, { 'content-type': 'application/json' }).end(fault.body);
      return;
    }
    forward(incoming, response, seen).catch(() => response.destroy());
  });
  return {
    config: plainConfig(server.port),
    passed,
    isWrite: ({ method }) => method !== 'GET',
    inject(matches, fault) {
      const rule = { matches, fault };
      rules.add(rule);
      for (const { passed: seen, response } of running) {
        if (!matches(seen)) continue;
        if (fault.kind === 'line') response.write(`${fault.text}\n`);
        // What was answered so is answered to who asks again.
        else if (fault.kind === 'answer') response.destroy();
      }
      return () => void rules.delete(rule);
    },
    cut: () => server.shut(),
    mend: () => server.open(),
    close: () => server.shut(),
  };
}

/** Without TLS and credentials: those are the proxy's. */
function plainConfig(port: number): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'proxy', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'nobody' },
  );
  return config;
}
