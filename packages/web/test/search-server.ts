import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SearchServer {
  url: string;
  /** Resolves when a search waits. */
  asked(): Promise<void>;
  /** Answers all waiting searches. */
  answer(status: number): void;
  close(): Promise<void>;
}

/** A SearXNG whose searches wait until the test answers them, which shows calls while they run. */
export async function startSearchServer(): Promise<SearchServer> {
  const waiting: ServerResponse[] = [];
  let asked = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (!new URL(request.url ?? '/', 'http://search').searchParams.has('q')) return void response.end('{}');
    waiting.push(response);
    asked.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const results = [{ title: 'Tea', url: 'https://tea.example/', content: 'Tea is a drink.', engine: 'test' }];
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked.promise,
    answer(status) {
      asked = Promise.withResolvers();
      for (const response of waiting.splice(0)) {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ query: 'tea', results, unresponsive_engines: [] }));
      }
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
