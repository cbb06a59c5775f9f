import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface UpstreamResult {
  title: string;
  url: string;
  content: string;
}

/** The response to a query: results, an error status, or none. */
export type UpstreamAnswer = { results: readonly UpstreamResult[] } | { status: number } | 'hang';
export type UpstreamHandler = (query: string) => UpstreamAnswer;

export interface SearchUpstream {
  /** The value for `JsonEngine.searchUrl`. */
  searchUrl: string;
  /** The received queries, oldest first. */
  queries: string[];
  respondWith(handler: UpstreamHandler): void;
  /** Also ends hanging requests. */
  close(): Promise<void>;
}

export interface SearchUpstreamOptions {
  results?: readonly UpstreamResult[];
  handler?: UpstreamHandler;
}

/** Starts a scripted search engine on a loopback port for a `JsonEngine`. */
export async function startSearchUpstream({
  results = [],
  handler = () => ({ results }),
}: SearchUpstreamOptions = {}): Promise<SearchUpstream> {
  let respond = handler;
  const queries: string[] = [];
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '/', 'http://upstream').searchParams.get('q') ?? '';
    queries.push(query);
    send(respond(query), response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    searchUrl: `http://127.0.0.1:${port}/search?q={query}`,
    queries,
    respondWith(next) {
      respond = next;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function send(answer: UpstreamAnswer, response: ServerResponse): void {
  if (answer === 'hang') return;
  if ('status' in answer) response.writeHead(answer.status).end();
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results: answer.results }));
}
