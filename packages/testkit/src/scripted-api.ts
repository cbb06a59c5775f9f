import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import type { KubernetesObject } from '@uswarm/kube-types';
import type { ServerCertificate } from './certificate.js';

export interface ApiRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  contentType: string | undefined;
  body: Record<string, unknown>;
}

/** Sends a response in place of the server, or returns undefined to let the server respond. */
export type Script = (request: ApiRequest, response: ServerResponse) => true | undefined;

/** An in-memory API server with lists, watches, writes and scripted faults. */
export interface ScriptedApi {
  config: KubeConfig;
  requests: readonly ApiRequest[];
  writes(): ApiRequest[];
  /** Number of running watches. */
  watches(): number;
  script(script: Script): () => void;
  put(collection: string, object: KubernetesObject): KubernetesObject;
  get(collection: string, name: string): KubernetesObject | undefined;
  /** Object names in a collection. */
  names(collection: string): string[];
  remove(collection: string, name: string): void;
  /** Sends a line to every running watch on the collection. */
  sendToWatches(collection: string, text: string): void;
  /** Ends the running watches, or breaks their connections. */
  endWatches(how: 'end' | 'disconnect'): void;
  /** Drops the history: a watch from an earlier version fails, so that the client must list. */
  compact(): void;
  /** Closes all connections and listens again on the same port after `downMs`. */
  restart(downMs: number): Promise<void>;
  close(): Promise<void>;
}

interface HistoryEntry {
  version: number;
  collection: string;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubernetesObject;
}

interface Watcher {
  collection: string;
  selector: string | null;
  response: ServerResponse;
}

const APPLY = 'application/apply-patch+yaml';
const NAMESPACED = /^(.*\/namespaces\/[^/]+\/[^/]+)(?:\/([^/]+))?(?:\/(status))?$/;
const CLUSTERED = /^(\/apis?\/(?:[^/]+\/)?v[^/]*\/[^/]+)(?:\/([^/]+))?(?:\/(status))?$/;

/** @param certificate for TLS, with HTTP/2 and HTTP/1.1 as a real API server; without it, HTTP/1.1 in clear text */
export async function startScriptedApi(certificate?: ServerCertificate): Promise<ScriptedApi> {
  const collections = new Map<string, Map<string, KubernetesObject>>();
  const requests: ApiRequest[] = [];
  const scripts: Script[] = [];
  const watchers = new Set<Watcher>();
  const sockets = new Set<Socket>();
  let history: HistoryEntry[] = [];
  let version = 100;
  let compacted = 0;

  const collectionOf = (path: string): Map<string, KubernetesObject> => {
    const found = collections.get(path) ?? new Map<string, KubernetesObject>();
    collections.set(path, found);
    return found;
  };
  const record = (collection: string, type: HistoryEntry['type'], object: KubernetesObject): KubernetesObject => {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${version}` } };
    if (type === 'DELETED') collectionOf(collection).delete(object.metadata.name);
    else collectionOf(collection).set(object.metadata.name, stored);
    history.push({ version, collection, type, object: stored });
    for (const watcher of watchers) notify(watcher, { version, collection, type, object: stored });
    return stored;
  };
  const put = (collection: string, object: KubernetesObject): KubernetesObject => {
    const before = collectionOf(collection).get(object.metadata.name);
    const uid = before?.metadata.uid ?? object.metadata.uid ?? `uid-${object.metadata.name}-${version}`;
    const stored = { ...object, metadata: { generation: 1, ...object.metadata, uid } };
    const { deletionTimestamp, finalizers = [] } = stored.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) return record(collection, 'DELETED', stored);
    return record(collection, before === undefined ? 'ADDED' : 'MODIFIED', stored);
  };
  const watch = (collection: string, query: URLSearchParams, response: ServerResponse): void => {
    const since = Number(query.get('resourceVersion'));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (since < compacted) {
      const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
      response.end(`${JSON.stringify({ type: 'ERROR', object: expired })}\n`);
      return;
    }
    const watcher = { collection, selector: query.get('labelSelector'), response };
    for (const event of history) if (event.version > since) notify(watcher, event);
    watchers.add(watcher);
    response.once('close', () => watchers.delete(watcher));
  };
  const write = (
    request: ApiRequest,
    collection: string,
    name: string | undefined,
    sub: string | undefined,
  ): Answer => {
    const before = name === undefined ? undefined : collectionOf(collection).get(name);
    const body = request.body as unknown as KubernetesObject;
    if (request.method === 'POST') {
      if (collectionOf(collection).has(body.metadata.name)) return refusal(409, 'AlreadyExists');
      return { status: 201, body: put(collection, body) };
    }
    const { uid, resourceVersion } = body.metadata ?? {};
    if (before === undefined) {
      if (request.contentType !== APPLY) return refusal(404, 'NotFound');
      return uid === undefined ? { status: 201, body: put(collection, body) } : refusal(409, 'Conflict');
    }
    const stale = resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion;
    if (stale || (uid !== undefined && uid !== before.metadata.uid)) return refusal(409, 'Conflict');
    if (request.method === 'DELETE') return remove(collection, before, request.body);
    if (sub === 'status') return { status: 200, body: put(collection, { ...before, status: body['status'] }) };
    return { status: 200, body: put(collection, merged(before, body)) };
  };
  const remove = (collection: string, before: KubernetesObject, options: Record<string, unknown>): Answer => {
    const { uid, resourceVersion } = (options['preconditions'] ?? {}) as { uid?: string; resourceVersion?: string };
    const stale = resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion;
    if (stale || (uid !== undefined && uid !== before.metadata.uid)) return refusal(409, 'Conflict');
    const finalizers = [...(before.metadata.finalizers ?? [])];
    if (options['propagationPolicy'] === 'Foreground') finalizers.push('foregroundDeletion');
    const terminating = {
      ...before,
      metadata: { ...before.metadata, deletionTimestamp: '2030-01-01T00:00:00Z', finalizers },
    };
    const stored = put(collection, terminating);
    return { status: 200, body: finalizers.length === 0 ? { kind: 'Status', metadata: {} } : stored };
  };
  const answer = (request: ApiRequest, response: ServerResponse): void => {
    if (scripts.some((script) => script(request, response) === true)) return;
    const [, collection = '', name, sub] = NAMESPACED.exec(request.path) ?? CLUSTERED.exec(request.path) ?? [];
    if (request.query.get('watch') === 'true') return watch(collection, request.query, response);
    const found = request.method === 'GET' ? read(request, collection, name) : write(request, collection, name, sub);
    response.writeHead(found.status, { 'content-type': 'application/json' }).end(JSON.stringify(found.body));
  };
  const read = ({ query }: ApiRequest, collection: string, name: string | undefined): Answer => {
    if (name !== undefined) {
      const object = collectionOf(collection).get(name);
      return object === undefined ? refusal(404, 'NotFound') : { status: 200, body: object };
    }
    const items = [...collectionOf(collection).values()].filter((item) => selected(item, query.get('labelSelector')));
    const sample = items[0] ?? { apiVersion: 'v1', kind: 'Thing' };
    const { apiVersion, kind } = sample;
    return {
      status: 200,
      body: { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: `${version}` }, items },
    };
  };
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    requests.push(request);
    answer(request, response);
  };
  const open = async (port: number): Promise<Server> => {
    const onRequest = (incoming: unknown, response: unknown): void =>
      void handle(incoming as IncomingMessage, response as ServerResponse);
    const server: Server =
      certificate === undefined
        ? createServer(onRequest)
        : createSecureServer({ cert: certificate.certificate, key: certificate.key, allowHTTP1: true }, onRequest);
    server.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
    return server;
  };
  const shut = async (server: Server): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  let server = await open(0);
  const { port } = server.address() as AddressInfo;
  return {
    config: configFor(port, certificate),
    requests,
    writes: () => requests.filter(({ method, path }) => method !== 'GET' && !/\/(leases|events)/.test(path)),
    watches: () => watchers.size,
    script(script) {
      scripts.push(script);
      return () => void scripts.splice(scripts.indexOf(script), 1);
    },
    put,
    get: (collection, name) => collectionOf(collection).get(name),
    names: (collection) => [...collectionOf(collection).keys()],
    remove(collection, name) {
      const object = collectionOf(collection).get(name);
      if (object !== undefined) record(collection, 'DELETED', object);
    },
    sendToWatches(collection, text) {
      for (const watcher of watchers) if (watcher.collection === collection) watcher.response.write(`${text}\n`);
    },
    endWatches(how) {
      for (const watcher of watchers) {
        watchers.delete(watcher);
        if (how === 'end') watcher.response.end();
        else watcher.response.destroy();
      }
    },
    compact() {
      version += 1;
      compacted = version;
      history = [];
    },
    async restart(downMs) {
      await shut(server);
      await new Promise((resolve) => setTimeout(resolve, downMs));
      server = await open(port);
    },
    close: () => shut(server),
  };
}

interface Answer {
  status: number;
  body: object;
}

const refusal = (status: number, reason: string): Answer => ({
  status,
  body: { kind: 'Status', code: status, reason, message: `the scripted server returns ${reason}` },
});

function notify({ collection, selector, response }: Watcher, event: HistoryEntry): void {
  if (collection !== event.collection || !selected(event.object, selector)) return;
  response.write(`${JSON.stringify({ type: event.type, object: event.object })}\n`);
}

function selected({ metadata }: KubernetesObject, selector: string | null): boolean {
  if (selector === null) return true;
  return selector.split(',').every((requirement) => {
    const [label = '', value] = requirement.split('=');
    const found = metadata.labels?.[label];
    return value === undefined ? found !== undefined : found === value;
  });
}

/** Approximates a merge patch, or an apply by a single writer. */
function merged(before: KubernetesObject, patch: KubernetesObject): KubernetesObject {
  const merge = (a: unknown, b: unknown): unknown => {
    const plain = (value: unknown): value is Record<string, unknown> =>
      typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!plain(a) || !plain(b)) return b;
    const fields = Object.entries(b).map(([name, value]) => [name, merge(a[name], value)]);
    return Object.fromEntries(
      Object.entries({ ...a, ...Object.fromEntries(fields) }).filter(([, value]) => value !== null),
    );
  };
  return merge(before, patch) as KubernetesObject;
}

async function readRequest(incoming: IncomingMessage): Promise<ApiRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://api');
  const text = Buffer.concat(chunks).toString();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  const contentType = incoming.headers['content-type'];
  return { method: incoming.method ?? 'GET', path: pathname, query: searchParams, contentType, body };
}

function configFor(port: number, certificate: ServerCertificate | undefined): KubeConfig {
  const config = new KubeConfig();
  const server = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const trust = certificate === undefined ? {} : { caData: Buffer.from(certificate.ca).toString('base64') };
  config.loadFromClusterAndUser(
    { name: 'scripted', server, skipTLSVerify: certificate === undefined, ...trust },
    { name: 'anonymous' },
  );
  return config;
}
