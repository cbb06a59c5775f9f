import { parseJson } from '@uswarm/service-kit';
import { isFinishReason } from './repair/finish-reasons.js';
import { isObject, type Json, objects } from './repair/json.js';
import { createTextHold, type TextDelta } from './text-hold.js';
import { type EventRepair, eventResponse, type PassOptions, repairBody, repairCounts } from './wire-body.js';

// Deviations in the Messages protocol that the client library does not accept.

/** Protocol events; the client library rejects others, which newer servers may send. */
const MESSAGE_EVENT = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|ping|error)$/;

const CUT = JSON.stringify({ type: 'error', error: { type: 'api_error', message: 'the response ended early' } });

const MESSAGE_STOP = JSON.stringify({ type: 'message_stop' });

/** The client library requires a count; the usage meter ignores a negative one. */
const UNKNOWN = -1;

const countsOf = (usage: unknown): Json => (isObject(usage) ? repairCounts(usage) : {});

/** Some servers send no usage, or counts that are not numbers. */
function repairUsage(event: Json): Json {
  const { type, message, usage } = event;
  if (type === 'message_delta') return { ...event, usage: { output_tokens: UNKNOWN, ...countsOf(usage) } };
  if (type !== 'message_start' || !isObject(message)) return event;
  // The output follows at the end. Here it is a placeholder.
  const { output_tokens: _, ...input } = countsOf(message['usage']);
  return { ...event, message: { ...message, usage: { input_tokens: UNKNOWN, ...input } } };
}

/** Blocks and deltas that the client library knows, with the text that it requires. */
const BLOCKS = new Map<unknown, Json>([
  ['text', { text: '' }],
  ['thinking', { thinking: '' }],
  ['redacted_thinking', {}],
  ['tool_use', { id: '', input: {} }],
]);
const DELTAS = new Set<unknown>([
  'text_delta',
  'thinking_delta',
  'signature_delta',
  'input_json_delta',
  'citations_delta',
]);

/** A block's events with the fields that the client library requires; none if it does not know the block. */
function repairBlocks(event: Json, unknownBlocks: Set<unknown>): Json[] {
  const { type, index: sent, content_block: block, delta } = event;
  if (typeof type !== 'string' || !type.startsWith('content_block_')) return [event];
  const index = sent ?? 0;
  if (isObject(block)) {
    const required = BLOCKS.get(block['type']);
    if (required === undefined) {
      unknownBlocks.add(index);
      return [];
    }
    unknownBlocks.delete(index);
    const { text, ...rest } = block;
    const { id } = block;
    const given = typeof id === 'number' ? { id: String(id) } : {};
    const start = {
      ...event,
      index,
      content_block: { ...required, ...rest, ...given, ...(block['type'] === 'text' ? { text: '' } : {}) },
    };
    // The client library ignores text in a block's start event.
    const isText = block['type'] === 'text' && typeof text === 'string' && text !== '';
    return isText ? [start, { type: 'content_block_delta', index, delta: { type: 'text_delta', text } }] : [start];
  }
  const isUnknown = unknownBlocks.has(index) || (isObject(delta) && !DELTAS.has(delta['type']));
  return isUnknown ? [] : [{ ...event, index }];
}

const hasStopReason = ({ type, delta }: Json): boolean =>
  type === 'message_delta' && isObject(delta) && isFinishReason(delta['stop_reason']);

const TEXTS = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
]);

/** A delta that only adds text or thoughts to a block. */
function textDeltaOf(event: Json): TextDelta | undefined {
  const { type, index, delta } = event;
  if (type !== 'content_block_delta' || !isObject(delta)) return undefined;
  const { type: kind, ...fields } = delta;
  const field = TEXTS.get(String(kind)) ?? '';
  const text = fields[field];
  if (typeof text !== 'string' || Object.keys(fields).length !== 1) return undefined;
  return {
    kind: `${field}:${String(index)}`,
    text,
    withText: (joined) => ({ ...event, delta: { ...delta, [field]: joined } }),
  };
}

/** The client library takes a closed connection for a complete response. */
function repairEvents(): EventRepair {
  let ended = false;
  let stopped = false;
  const unknownBlocks = new Set<unknown>();
  const hold = createTextHold(textDeltaOf);
  const release = (): string[] => hold.release().map((event) => JSON.stringify(event));
  return {
    repair(data) {
      const event = parseJson(data);
      const type = isObject(event) ? event['type'] : undefined;
      if (typeof type === 'string' && !MESSAGE_EVENT.test(type)) return [];
      ended ||= type === 'error' || (isObject(event) && hasStopReason(event));
      stopped ||= type === 'message_stop' || type === 'error';
      if (isObject(event)) {
        return repairBlocks(repairUsage(event), unknownBlocks)
          .flatMap((one) => hold.add(one))
          .map((one) => JSON.stringify(one));
      }
      // After the response, a partial event is as good as none.
      return ended || !data.startsWith('{') ? [] : [...release(), data];
    },
    get isHolding() {
      return hold.isHolding;
    },
    release,
    end() {
      if (stopped) return release();
      return [...release(), ended ? MESSAGE_STOP : CUT];
    },
    isComplete: () => ended,
  };
}

/** Start and deltas of a block. */
function streamed({ type, ...block }: Json): { start: Json; deltas: Json[] } {
  if (type === 'text') {
    const { text = '' } = block;
    return { start: { type, text: '' }, deltas: [{ type: 'text_delta', text }] };
  }
  if (type === 'thinking') {
    const { thinking = '', signature } = block;
    const signed = typeof signature === 'string' ? [{ type: 'signature_delta', signature }] : [];
    return { start: { type, thinking: '' }, deltas: [{ type: 'thinking_delta', thinking }, ...signed] };
  }
  if (type !== 'tool_use') return { start: { type, ...block }, deltas: [] };
  const { input, ...start } = block;
  const partialJson = JSON.stringify(input ?? {});
  return { start: { type, ...start, input: {} }, deltas: [{ type: 'input_json_delta', partial_json: partialJson }] };
}

/** A complete message as a stream, from servers that ignore `stream`. */
function asStream({ content, stop_reason, stop_sequence, usage, ...head }: Json): Response {
  const blocks = objects(typeof content === 'string' ? [{ type: 'text', text: content }] : content).map(streamed);
  const events = [
    { type: 'message_start', message: { ...head, content: [], usage } },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ];
  return eventResponse(events.map((event) => JSON.stringify(repairUsage(event))));
}

/** Repairs a successful Messages response. */
export const repairMessages = (
  response: Response,
  _offered: ReadonlySet<string>,
  options: PassOptions,
): Promise<Response> =>
  repairBody(
    response,
    {
      events: repairEvents,
      document: (body) => (body['type'] === 'message' ? asStream(body) : undefined),
    },
    options,
  );
