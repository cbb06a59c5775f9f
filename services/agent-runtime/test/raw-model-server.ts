import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request from a provider's client. */
export interface RawRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** Writes a response byte by byte as a real server does; `index` is the number of earlier requests. */
export type RawHandler = (response: ServerResponse, request: RawRequest, index: number) => unknown;

/** An HTTP server whose responses a test writes itself. */
export interface RawModelServer extends AsyncDisposable {
  url: string;
  requests: readonly RawRequest[];
}

export async function startRawModelServer(handle: RawHandler): Promise<RawModelServer> {
  const requests: RawRequest[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Record<string, unknown>;
      const received = { path: request.url ?? '', headers: request.headers, body };
      const index = requests.push(received) - 1;
      void handle(response, received, index);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function startEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

/** Responds with a chat completions stream. */
export function sendChunks(response: ServerResponse, chunks: readonly object[], end = 'data: [DONE]\n\n'): void {
  startEvents(response);
  for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end(end);
}

/** A chunk with a delta. */
export const delta = (content: object, finish: string | null = null): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'scripted',
  choices: [{ index: 0, delta: content, finish_reason: finish }],
});

/** Responds with an error. */
export function sendError(
  response: ServerResponse,
  status: number,
  error: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error }));
}

/** Responds with a Messages stream. */
export function sendEvents(response: ServerResponse, events: readonly ({ type: string } & object)[]): void {
  startEvents(response);
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}
