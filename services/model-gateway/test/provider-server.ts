import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@uswarm/service-kit';

export interface ProviderRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

export type Respond = (response: ServerResponse, request: ProviderRequest) => void | Promise<void>;

export interface ProviderServer {
  /** Origin. */
  url: string;
  requests: ProviderRequest[];
  /** Number of requests whose connection the client closed early. */
  readonly aborted: number;
  close(): Promise<void>;
}

/** A model provider whose responses a test writes byte by byte. */
export async function startProviderServer(respond: () => Respond): Promise<ProviderServer> {
  const requests: ProviderRequest[] = [];
  let aborted = 0;
  const server = createServer((request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) aborted += 1;
    });
    const answer = async (): Promise<void> => {
      const body = JSON.parse(await text(request)) as Record<string, unknown>;
      const received = { path: request.url ?? '', headers: request.headers, body };
      requests.push(received);
      await respond()(response, received);
    };
    answer().catch(() => response.destroy());
  });
  const running = await listen(server, { host: '127.0.0.1', port: 0 });
  return {
    url: running.url,
    requests,
    get aborted() {
      return aborted;
    },
    close: () => running.close(0),
  };
}

export const sse = (...events: object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

export const STREAM = { 'content-type': 'text/event-stream' };

export const delta = (content: string, finish: string | null = null): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});

export const usageChunk = (prompt: number, completion: number): object => ({
  id: 'c',
  choices: [],
  usage: {
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 2 },
  },
});

/** Streams the events as a whole response. */
export const streamed =
  (...events: object[]): Respond =>
  (response) =>
    void response.writeHead(200, STREAM).end(`${sse(...events)}data: [DONE]\n\n`);
