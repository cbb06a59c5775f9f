import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export interface FakeSearxng extends AsyncDisposable {
  endpoint: string;
  /** Received requests, oldest first. */
  requests: { method: string; url: URL; headers: IncomingMessage['headers'] }[];
}

/** An HTTP server on a loopback port that replaces SearXNG. */
export async function startFakeSearxng(respond: Respond): Promise<FakeSearxng> {
  const requests: FakeSearxng['requests'] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://fake');
    requests.push({ method: request.method ?? '', url, headers: request.headers });
    respond(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Returns this JSON for each request. */
export function answerJson(body: unknown): Respond {
  return (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A row of SearXNG, including fields that the tool ignores. */
export function row(name: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    title: `Title ${name}`,
    url: `https://example.com/${name}`,
    content: `About ${name}`,
    engine: 'alpha',
    engines: ['alpha', 'beta'],
    score: 9,
    parsed_url: ['https', 'example.com', `/${name}`, '', '', ''],
    publishedDate: null,
    ...fields,
  };
}
