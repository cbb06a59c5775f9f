import { EventSourceParserStream } from 'eventsource-parser/stream';
import { parseJson } from '@uswarm/service-kit';
import { statusOfType } from './failures.js';

// What the repairs of all protocols share.

export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objects = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Counts as text become numbers; negative and other values are removed. */
export function repairCounts(usage: Json): Json {
  const entries = Object.entries(usage).flatMap(([key, value]): [string, unknown][] => {
    if (isObject(value)) return [[key, repairCounts(value)]];
    if (!key.endsWith('_tokens')) return [[key, value]];
    const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    const isCount = typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER;
    return isCount ? [[key, count]] : [];
  });
  return Object.fromEntries(entries);
}

const BLANK = new Set([...'\t\n\r '].map((character) => character.charCodeAt(0)));
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);
/** JSON or HTML. Lines of events begin otherwise. */
const DOCUMENT_START = new Set([...'{["<'].map((character) => character.charCodeAt(0)));

interface Body {
  /** Whether it is one document instead of a stream of events. */
  isDocument: boolean;
  stream: ReadableStream<Uint8Array>;
}

/** Reads the start of a body, which shows what it is: content types are often wrong or missing. */
async function openBody(body: ReadableStream<Uint8Array>): Promise<Body> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    const first = value?.find((byte) => !BLANK.has(byte) && !BYTE_ORDER_MARK.has(byte));
    if (!done && first === undefined) continue;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        if (value !== undefined) controller.enqueue(value);
        if (done) controller.close();
      },
      async pull(controller) {
        const next = await reader.read();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return { isDocument: first !== undefined && DOCUMENT_START.has(first), stream };
  }
}

export const toEvent = (data: string): string => `data: ${data}\n\n`;

/** A stream with these events. */
export const eventResponse = (events: readonly string[]): Response =>
  new Response(events.map(toEvent).join(''), { headers: { 'content-type': 'text/event-stream' } });

/** An error that a server sent with status 200. */
function errorResponse(body: unknown, text: string): Response {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  const code = Number(error['code'] ?? error['status']);
  const words = [error['type'], error['code'], error['message']].filter((word) => typeof word === 'string');
  const status = code >= 400 && code <= 599 ? code : (statusOfType(words.join(' ').toLowerCase()) ?? 500);
  return new Response(text, { status, headers: { 'content-type': 'application/json' } });
}

/** Some servers leave out the empty line after the last event, without which it is ignored. */
const endLastEvent = () => new TransformStream<string, string>({ flush: (controller) => controller.enqueue('\n\n') });

function withEvents(
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  repair: TransformStream<{ data: string }, string>,
): Response {
  const events = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(endLastEvent())
    .pipeThrough(new EventSourceParserStream())
    .pipeThrough(repair)
    .pipeThrough(new TextEncoderStream());
  return new Response(events, { status, headers });
}

export interface BodyRepairs {
  /** Repairs the events of a stream. */
  events: () => TransformStream<{ data: string }, string>;
  /** A complete response as events, from servers that ignore `stream`; undefined if it is another document. */
  document: (body: Json) => Response | undefined;
}

/** Repairs a successful response. A document that is not a response becomes an error. */
export async function repairBody(response: Response, { events, document }: BodyRepairs): Promise<Response> {
  if (!response.ok || response.body === null) return response;
  const { isDocument, stream } = await openBody(response.body);
  if (!isDocument) return withEvents(response, stream, events());
  const text = await new Response(stream).text();
  const body = parseJson(text);
  return (isObject(body) ? document(body) : undefined) ?? errorResponse(body, text);
}
