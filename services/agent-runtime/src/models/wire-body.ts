import { createParser } from 'eventsource-parser';
import { parseJson } from '@uswarm/service-kit';
import { statusOfType } from './failures.js';
import { isHtml, WEB_PAGE_HEADERS } from './refusals/sentences.js';
import { isObject, type Json } from './repair/json.js';

// Shared by the repairs of all protocols.

/** Counts as text become numbers; negative and other values are removed. */
export function repairCounts(usage: Json): Json {
  const entries = Object.entries(usage).flatMap(([key, value]): [string, unknown][] => {
    if (isObject(value)) return [[key, repairCounts(value)]];
    if (key.endsWith('_details')) return [];
    if (!key.endsWith('_tokens')) return [[key, value]];
    const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    const isCount = typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER;
    return isCount ? [[key, count]] : [];
  });
  return Object.fromEntries(entries);
}

const BLANK = new Set([...'\t\n\r '].map((character) => character.charCodeAt(0)));
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);
/** JSON or HTML. Event lines begin otherwise. */
const DOCUMENT_START = new Set([...'{["<'].map((character) => character.charCodeAt(0)));

/** How a response is passed on. */
export interface PassOptions {
  /** Called for each part of the body. */
  touch: () => void;
  /** Milliseconds for which text is joined before it passes. */
  joinMs: number;
}

interface Body {
  /** True if it is one document instead of an event stream. */
  isDocument: boolean;
  /** Reads the next bytes; undefined at the end. */
  read: () => Promise<Uint8Array | undefined>;
  cancel: (reason: unknown) => Promise<void>;
}

/** Reads the start of a body, which shows its kind: content types are often wrong or missing. */
async function openBody(body: ReadableStream<Uint8Array>, touch: () => void): Promise<Body> {
  const reader = body.getReader();
  const read = async (): Promise<Uint8Array | undefined> => {
    const { value } = await reader.read();
    if (value !== undefined) touch();
    return value;
  };
  const cancel = (reason: unknown): Promise<void> => reader.cancel(reason);
  for (;;) {
    const bytes = await read();
    if (bytes === undefined) return { isDocument: false, read, cancel };
    const start = bytes.findIndex((byte) => !BLANK.has(byte) && !BYTE_ORDER_MARK.has(byte));
    if (start < 0) continue;
    let first: Uint8Array | undefined = bytes.subarray(start);
    const readFirst = async (): Promise<Uint8Array | undefined> => {
      const held = first;
      first = undefined;
      return held ?? (await read());
    };
    return { isDocument: DOCUMENT_START.has(bytes[start] ?? 0), read: readFirst, cancel };
  }
}

async function readText({ read }: Body): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = await read(); bytes !== undefined; bytes = await read()) {
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

/** Repairs the events of one stream. Events are their data without the syntax of event streams. */
export interface EventRepair {
  /** @returns the events to pass on. Text is held until `release`, or until an event that is not text. */
  repair(data: string): readonly string[];
  readonly isHolding: boolean;
  release(): readonly string[];
  /** @returns the last events, when the stream ends */
  end(): readonly string[];
  /** Whether the response is complete, so that nothing but usage can follow. */
  isComplete(): boolean;
}

/** Milliseconds for the next event after a complete response: some servers then keep the connection open. */
const GRACE_MS = 2_000;

/** The promise's result; undefined if it takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The repaired events. Silence or a failure after a complete response is its end. The first text passes immediately; later
 * text is joined for `joinMs` milliseconds.
 */
function repairStream({ read, cancel }: Body, repairs: EventRepair, joinMs: number): ReadableStream<Uint8Array> {
  const { repair, end, isComplete, release } = repairs;
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let repaired = '';
  const pass = (events: readonly string[]): void => void (repaired += events.map(toEvent).join(''));
  let completeAt: number | undefined;
  const parser = createParser({
    onEvent({ data }) {
      completeAt = undefined;
      pass(repair(data));
      if (joinMs === 0) pass(release());
    },
  });

  /** @returns undefined at the end */
  async function readNext(): Promise<Uint8Array | undefined> {
    if (!isComplete()) return read();
    completeAt ??= performance.now();
    const rest = GRACE_MS - (performance.now() - completeAt);
    return within(
      read().catch(() => undefined),
      rest,
    );
  }

  /** @returns whether more can follow */
  async function parseNext(): Promise<boolean> {
    const bytes = await readNext();
    if (bytes !== undefined) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      return true;
    }
    // Some servers leave out the empty line after the last event, without which it is ignored.
    parser.feed(`${decoder.decode()}\n\n`);
    pass(end());
    return false;
  }

  /** Outlives a pull that passes text on before the next bytes arrive. */
  let parsing: Promise<boolean> | undefined;
  let textAt = -Infinity;
  const passText = (): void => {
    textAt = performance.now();
    pass(release());
  };

  /** Parses until there is something to pass on. @returns whether more can follow */
  async function parseMore(): Promise<boolean> {
    const late = Promise.withResolvers<'late'>();
    let timer: NodeJS.Timeout | undefined;
    try {
      while (repaired === '') {
        const left = textAt + joinMs - performance.now();
        if (repairs.isHolding && left <= 0) {
          passText();
          break;
        }
        parsing ??= parseNext();
        if (repairs.isHolding) timer ??= setTimeout(() => late.resolve('late'), left);
        // Held text passes before a failure.
        const next = await (repairs.isHolding
          ? Promise.race([parsing.catch(() => 'late' as const), late.promise])
          : parsing);
        if (next === 'late') passText();
        else parsing = undefined;
        if (next === false) return false;
      }
      return true;
    } finally {
      clearTimeout(timer);
    }
  }

  return new ReadableStream({
    async pull(controller) {
      const more = await parseMore();
      if (repaired !== '') controller.enqueue(encoder.encode(repaired));
      repaired = '';
      if (more) return;
      controller.close();
      await cancel(undefined).catch(() => undefined);
    },
    cancel,
  });
}

const toEvent = (data: string): string => `data: ${data}\n\n`;

/** A stream with these events. */
export const eventResponse = (events: readonly string[]): Response =>
  new Response(events.map(toEvent).join(''), { headers: { 'content-type': 'text/event-stream' } });

/** An error that a server sent with status 200. */
function errorResponse(body: unknown, text: string): Response {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  const code = Number(error['code'] ?? error['status']);
  const words = [error['type'], error['code'], error['message']].filter((word) => typeof word === 'string');
  const status = code >= 400 && code <= 599 ? code : (statusOfType(words.join(' ').toLowerCase()) ?? 500);
  const page = isHtml(text) ? WEB_PAGE_HEADERS : {};
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...page } });
}

export interface BodyRepairs {
  events: () => EventRepair;
  /** A complete response as events, from servers that ignore `stream`; undefined if it is another document. */
  document: (body: Json) => Response | undefined;
}

/** Repairs a successful response. A document that is not a response becomes an error. */
export async function repairBody(
  response: Response,
  { events, document }: BodyRepairs,
  { touch, joinMs }: PassOptions,
): Promise<Response> {
  if (!response.ok || response.body === null) return response;
  const body = await openBody(response.body, touch);
  const { status, headers } = response;
  if (!body.isDocument) return new Response(repairStream(body, events(), joinMs), { status, headers });
  const text = await readText(body);
  const parsed = parseJson(text);
  return (isObject(parsed) ? document(parsed) : undefined) ?? errorResponse(parsed, text);
}
