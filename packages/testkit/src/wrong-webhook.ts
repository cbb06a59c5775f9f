import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A way in which something at the webhook's address does not behave like it. */
export interface WrongAnswer {
  what: string;
  /** The reason that a UserSwarm shows. */
  reason: 'WebhookUnavailable' | 'WebhookInvalid';
  /** Matches the message that a UserSwarm shows. */
  message: RegExp;
  /** Answers a request, or a whole connection. */
  respond?: (response: ServerResponse) => void;
  connect?: (socket: Socket) => void;
}

const json = (value: unknown) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end();
const listing = (...children: object[]) => json({ status: {}, children });

/** The fatal alert with which a TLS server answers plain HTTP. */
const TLS_ALERT = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x0a]);

const unavailable = (what: string, message: RegExp, how: Partial<WrongAnswer>): WrongAnswer => ({
  what,
  reason: 'WebhookUnavailable',
  message,
  ...how,
});
const invalid = (what: string, message: RegExp, how: Partial<WrongAnswer>): WrongAnswer => ({
  what,
  reason: 'WebhookInvalid',
  message,
  ...how,
});

type CreateChild = (kind: string, metadata: object, fields?: object) => object;

const CONDITION = { type: 'Ready', status: 'True', reason: 'Available', message: '' };

const WRONG_BODIES: readonly WrongAnswer[] = [
  invalid('garbage', /not an object with status or children/, { respond: (response) => void response.end('<html') }),
  invalid('an HTML page', /content type is text\/html/, {
    respond: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  }),
  invalid('an empty body', /not an object with status or children/, { respond: (response) => void response.end() }),
  invalid('a JSON array', /not an object with status or children/, { respond: json([]) }),
  invalid('an error as JSON', /not an object with status or children/, { respond: json({ error: 'internal error' }) }),
  invalid('a status that is a text', /status: /, { respond: json({ status: 'fine', children: [] }) }),
  invalid('a phase that is a number', /status\.phase: /, { respond: json({ status: { phase: 7 }, children: [] }) }),
  invalid('an unknown phase', /status\.phase: /, { respond: json({ status: { phase: 'Great' }, children: [] }) }),
  invalid('conditions that are not a list', /status\.conditions: /, {
    respond: json({ status: { phase: 'Ready', conditions: {} }, children: [] }),
  }),
  invalid('children that are a text', /children: /, { respond: json({ status: {}, children: 'none' }) }),
  invalid('a child that is null', /children\.0: /, { respond: json({ status: {}, children: [null] }) }),
  invalid('a condition with a time that is not one', /status\.conditions\.0\.lastTransitionTime: /, {
    respond: json({ status: { conditions: [{ ...CONDITION, lastTransitionTime: 'yesterday' }] }, children: [] }),
  }),
  invalid('a status that is nested 100,000 levels deep', /nested deeper than/, {
    respond: (response) => void response.end(`{"status":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`),
  }),
  invalid('a body of 5 MiB', /exceeds 4194304 bytes/, {
    respond: (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(5 << 20)),
  }),
];

const wrongChildren = (child: CreateChild): WrongAnswer[] => [
  invalid('labels that are numbers', /metadata\.labels\.a: /, {
    respond: listing(child('Service', { labels: { a: 1 } })),
  }),
  invalid('a spec that is a list', /spec: /, { respond: listing(child('Deployment', {}, { spec: [] })) }),
  invalid('a Secret', /Secret\.v1 \S+\/agent-runtime-other has a kind that is not allowed/, {
    respond: listing(child('Secret', {})),
  }),
  invalid('a child in a foreign namespace', /Service kube-system\/agent-runtime-other is not in a namespace/, {
    respond: listing(child('Service', { namespace: 'kube-system' })),
  }),
  invalid('a Deployment with a foreign name', /Deployment \S+\/agent-runtime-other is not named agent-runtime-/, {
    respond: listing(child('Deployment', {}, { spec: { replicas: 1 } })),
  }),
];

const WRONG_RESPONSES: readonly WrongAnswer[] = [
  invalid('TLS', /is not HTTP/, {
    connect: (socket) => void socket.once('data', () => socket.end(TLS_ALERT)),
  }),
  ...[204, 302, 400, 401, 404, 413, 500, 502, 503].map((code) =>
    unavailable(`HTTP ${code}`, new RegExp(`returned HTTP ${code}`), {
      respond: status(code, code === 302 ? { location: 'http://example.com/' } : {}),
    }),
  ),
  unavailable('HTTP 429', /returns HTTP 429/, { respond: status(429) }),
  unavailable('HTTP 429 for an hour', /returns HTTP 429/, { respond: status(429, { 'retry-after': '3600' }) }),
  unavailable('no response', /did not respond within/, { respond: () => {} }),
  unavailable('a response that drips', /did not respond within/, {
    respond(response) {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
    },
  }),
  unavailable('a reset connection', /is unreachable \((?:ECONNRESET|UND_ERR_SOCKET)\)/, {
    connect: (socket) => void socket.once('data', () => socket.resetAndDestroy()),
  }),
  unavailable('a response that breaks off', /is unreachable \((?:ECONNRESET|UND_ERR_SOCKET)\)/, {
    respond(response) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{', () => response.destroy());
    },
  }),
];

/**
 * Answers of which nothing may be applied.
 *
 * @param namespace the UserSwarms' runtime namespace
 */
export function wrongAnswers(namespace: string): WrongAnswer[] {
  const child: CreateChild = (kind, metadata, fields = {}) => ({
    apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
    kind,
    metadata: { name: 'agent-runtime-other', namespace, ...metadata },
    ...fields,
  });
  return [...WRONG_BODIES, ...wrongChildren(child), ...WRONG_RESPONSES];
}

/** A webhook that answers wrongly in a given way, or rightly. */
export interface WrongWebhook {
  url: string;
  /** @param answer undefined for the right answer */
  use(answer: WrongAnswer | undefined): void;
  close(): Promise<void>;
}

/** @param right gives the right answer */
export async function startWrongWebhook(right: RequestListener): Promise<WrongWebhook> {
  let wrong: WrongAnswer | undefined;
  const sockets = new Set<Socket>();
  const http = createHttpServer((request, response) => {
    if (wrong?.respond === undefined) right(request, response);
    else request.resume().once('end', () => wrong?.respond?.(response));
  });
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).once('close', () => sockets.delete(socket)));
    if (wrong?.connect === undefined) http.emit('connection', socket);
    else wrong.connect(socket);
  });
  const endConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sync`,
    use(answer) {
      wrong = answer;
      endConnections();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      endConnections();
      await closed;
    },
  };
}
