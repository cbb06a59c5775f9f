import { EventSourceParserStream } from 'eventsource-parser/stream';
import { type CallNames, createCallNames } from './call-names.js';
import { createThinkSplitter, type ThinkSplitter } from './think-splitter.js';

// Deviations of servers with the chat completions protocol that the client library does not accept.

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objects = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Counts as text become numbers; negative and other values are removed. */
function repairCounts(usage: Json): Json {
  const entries = Object.entries(usage).flatMap(([key, value]): [string, unknown][] => {
    if (isObject(value)) return [[key, repairCounts(value)]];
    if (!key.endsWith('_tokens')) return [[key, value]];
    const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    return typeof count === 'number' && Number.isFinite(count) && count >= 0 ? [[key, count]] : [];
  });
  return Object.fromEntries(entries);
}

/** Some servers send numeric ids, indexes as text, or arguments as an object. */
function repairCall(call: Json): Json {
  const { id, index } = call;
  const fn = isObject(call['function']) ? call['function'] : {};
  const { arguments: input } = fn;
  return {
    ...call,
    id: typeof id === 'number' ? String(id) : id,
    index: typeof index === 'string' && index !== '' ? Number(index) : index,
    function: { ...fn, arguments: isObject(input) ? JSON.stringify(input) : input },
  };
}

/** A message or a delta, without the role: servers send various ones, and it has no meaning here. */
function repairMessage({ role: _, ...message }: Json, splitter: ThinkSplitter, names: CallNames): Json {
  const { content, tool_calls: calls, reasoning_content: reasoning } = message;
  const list = isObject(calls) ? [calls] : calls;
  if (Array.isArray(list)) message['tool_calls'] = names.add(objects(list).map(repairCall));
  if (typeof content !== 'string') return message;
  const { text, thought } = splitter.add(content);
  const thoughts = `${typeof reasoning === 'string' ? reasoning : ''}${thought}`;
  return { ...message, content: text, ...(thoughts === '' ? {} : { reasoning_content: thoughts }) };
}

interface ChunkRepair {
  repair(chunk: Json): Json;
  /** @param complete whether the server declared the response complete. @returns what was held until the end */
  end(complete: boolean): Json[];
}

function createChunkRepair(offered: ReadonlySet<string>): ChunkRepair {
  const splitter = createThinkSplitter();
  const names = createCallNames(offered);
  let finished = false;
  return {
    repair(chunk) {
      if (isObject(chunk['error'])) return chunk;
      if (chunk['object'] === 'error') return { error: chunk };
      const choices = objects(chunk['choices']).map(({ message, delta, ...choice }) => {
        finished ||= typeof choice['finish_reason'] === 'string';
        const part = isObject(delta) ? delta : message;
        return isObject(part) ? { ...choice, delta: repairMessage(part, splitter, names) } : choice;
      });
      const { usage, ...rest } = chunk;
      return { ...rest, choices, ...(isObject(usage) ? { usage: repairCounts(usage) } : {}) };
    },
    end(complete) {
      const { text, thought } = splitter.end();
      const delta = {
        ...(text === '' ? {} : { content: text }),
        ...(thought === '' ? {} : { reasoning_content: thought }),
        tool_calls: names.end(),
      };
      // The server declares the response complete, so a missing finish reason is not a lost connection.
      const reason = complete && !finished ? { finish_reason: 'stop' } : {};
      const isEmpty = text === '' && thought === '' && delta.tool_calls.length === 0;
      return isEmpty && !('finish_reason' in reason) ? [] : [{ choices: [{ index: 0, delta, ...reason }] }];
    },
  };
}

const DONE = '[DONE]';

const toEvent = (data: string): string => `data: ${data}\n\n`;

function repairEvents(offered: ReadonlySet<string>): TransformStream<{ data: string }, string> {
  const chunks = createChunkRepair(offered);
  const end = (controller: TransformStreamDefaultController<string>, complete: boolean): void => {
    for (const chunk of chunks.end(complete)) controller.enqueue(toEvent(JSON.stringify(chunk)));
  };
  return new TransformStream({
    transform({ data }, controller) {
      if (data === DONE) {
        end(controller, true);
        controller.enqueue(toEvent(DONE));
        return;
      }
      const chunk = parse(data);
      controller.enqueue(toEvent(isObject(chunk) ? JSON.stringify(chunks.repair(chunk)) : data));
    },
    flush: (controller) => end(controller, false),
  });
}

/** An error that a server sent with status 200. */
function errorResponse(error: unknown, body: string): Response {
  const code = isObject(error) ? Number(error['code'] ?? error['status']) : NaN;
  const status = code >= 400 && code <= 599 ? code : 500;
  return new Response(body, { status, headers: { 'content-type': 'application/json' } });
}

/** A complete response as a stream, from servers that ignore `stream`. */
function asStream(body: Json, offered: ReadonlySet<string>): Response {
  const chunks = createChunkRepair(offered);
  const events = [chunks.repair(body), ...chunks.end(true)].map((chunk) => toEvent(JSON.stringify(chunk)));
  const text = `${events.join('')}${toEvent(DONE)}`;
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
}

/**
 * Repairs a successful response of the chat completions protocol.
 *
 * @param offered names of the tools of the request
 */
export async function repairCompletion(response: Response, offered: ReadonlySet<string>): Promise<Response> {
  if (!response.ok || response.body === null) return response;
  if (response.headers.get('content-type')?.includes('application/json') === true) {
    const text = await response.text();
    const body = parse(text);
    if (isObject(body) && objects(body['choices']).length > 0) return asStream(body, offered);
    return errorResponse(isObject(body) ? body['error'] : undefined, text);
  }
  return withEvents(response, response.body, repairEvents(offered));
}

/** Some servers leave out the empty line after the last event, without which it is ignored. */
const endLastEvent = () => new TransformStream<string, string>({ flush: (controller) => controller.enqueue('\n\n') });

function withEvents(
  { status, headers }: Response,
  body: NonNullable<Response['body']>,
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

/** The events of the Messages protocol; the client library rejects others, which newer servers may send. */
const MESSAGE_EVENT = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|ping|error)$/;

const CUT = JSON.stringify({ type: 'error', error: { type: 'api_error', message: 'the response ended early' } });

const MESSAGE_STOP = JSON.stringify({ type: 'message_stop' });

/** The client library takes the end of a connection for the end of the response. */
function repairMessageEvents(): TransformStream<{ data: string }, string> {
  let ended = false;
  let stopped = false;
  return new TransformStream({
    transform({ data }, controller) {
      const event = parse(data);
      const type = isObject(event) ? event['type'] : undefined;
      if (typeof type === 'string' && !MESSAGE_EVENT.test(type)) return;
      ended ||= type === 'message_delta' || type === 'error';
      stopped ||= type === 'message_stop' || type === 'error';
      controller.enqueue(toEvent(data));
    },
    flush(controller) {
      if (!stopped) controller.enqueue(toEvent(ended ? MESSAGE_STOP : CUT));
    },
  });
}

/** Repairs a successful response of the Messages protocol. */
export function repairMessages(response: Response): Promise<Response> {
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
  if (!response.ok || response.body === null || !isStream) return Promise.resolve(response);
  return Promise.resolve(withEvents(response, response.body, repairMessageEvents()));
}
