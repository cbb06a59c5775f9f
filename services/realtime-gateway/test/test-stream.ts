import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { ServerEventName, ServerEventPayload } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { createParser } from 'eventsource-parser';

export interface StreamedEvent {
  name: string;
  payload: unknown;
  /** Only of events with a position. */
  id: string | undefined;
}

export interface StreamOptions {
  workspaces?: readonly string[];
  since?: readonly string[];
  lastEventId?: string;
  headers?: Record<string, string>;
  method?: string;
}

/** A client of `/v1/stream` that records every event, and checks it against the contract. */
export interface TestStream {
  response: IncomingMessage;
  status: number;
  events: StreamedEvent[];
  /** What was received so far, with comments. */
  text(): string;
  names(): string[];
  lastId(): string | undefined;
  /** Resolves with the first payload for this event that `next` has not returned before. */
  next<Name extends ServerEventName>(name: Name): Promise<ServerEventPayload<Name>>;
  /** Resolves with everything that was received when the response has ended. */
  ended: Promise<string>;
  close(): void;
}

function streamUrl(base: string, { workspaces = [], since = [] }: StreamOptions): string {
  const query = new URLSearchParams([
    ...workspaces.map((id): [string, string] => ['workspace_id', id]),
    ...since.map((position): [string, string] => ['since', position]),
  ]);
  return `${base}/v1/stream?${query}`;
}

export async function openStream(base: string, options: StreamOptions): Promise<TestStream> {
  const { lastEventId, headers, method = 'GET' } = options;
  const request = httpRequest(streamUrl(base, options), {
    method,
    headers: { 'x-token': 't', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }), ...headers },
    agent: false,
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return follow(response, () => request.destroy());
}

function follow(response: IncomingMessage, close: () => void): TestStream {
  let received = '';
  const events: StreamedEvent[] = [];
  const returned = new Set<StreamedEvent>();
  const problems: unknown[] = [];
  let waiting: (() => void)[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const parser = createParser({
    onEvent({ event: name = 'message', data, id }) {
      const payload: unknown = JSON.parse(data);
      events.push({ name, payload, id });
      try {
        checkServerEvent(name, payload);
      } catch (error) {
        problems.push(error);
      }
    },
  });
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    received += text;
    parser.feed(text);
    for (const notify of waiting.splice(0)) notify();
  });
  response.on('error', () => undefined);
  response.once('close', () => {
    resolve(received);
    for (const notify of waiting.splice(0)) notify();
  });
  return {
    response,
    status: response.statusCode ?? 0,
    events,
    text: () => received,
    names: () => events.map(({ name }) => name).filter((name) => name !== 'session.ready'),
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id,
    ended,
    async next<Name extends ServerEventName>(name: Name) {
      for (;;) {
        const found = events.find((event) => event.name === name && !returned.has(event));
        if (found !== undefined) {
          returned.add(found);
          return found.payload as ServerEventPayload<Name>;
        }
        if (response.closed) throw new Error(`the response ended before ${name}:\n${received}`);
        await new Promise<void>((notify) => waiting.push(notify));
      }
    },
    close() {
      close();
      waiting = [];
      if (problems.length > 0) throw new AggregateError(problems, 'events that violate the contract');
    },
  };
}
