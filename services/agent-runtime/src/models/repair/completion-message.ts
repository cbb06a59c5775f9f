import { isObject, type Json, objects } from './json.js';
import { type CallNames, createCallNames } from './call-names.js';

// Chat completion messages and deltas in the many forms in which servers send them.

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A text in one of the forms in which servers send it; a list stays, because its parts have types. */
function contentOf(value: unknown): unknown {
  if (typeof value === 'number') return String(value);
  if (isObject(value)) return [value];
  const isTexts = Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string');
  return isTexts ? value.join('') : value;
}

/** Thoughts as text; other forms repeat what another field has, or have no text. */
function thoughtsOf(value: unknown): string | null {
  const content = contentOf(value);
  if (typeof content === 'string') return content;
  return (
    objects(content)
      .map((part) => textOf(part['text'] ?? part['content']))
      .join('') || null
  );
}

/** A delta whose fields have the protocol's types. */
function typed(part: Json): Json {
  const fields = Object.entries(part).map(([name, value]): [string, unknown] => {
    if (name === 'content') return [name, contentOf(value)];
    return name === 'reasoning' || name === 'reasoning_content' ? [name, thoughtsOf(value)] : [name, value];
  });
  return Object.fromEntries(fields);
}

/** Some servers send numeric ids, indexes as text, arguments as an object, or the function's fields in the call. */
function repairCall(call: Json): Json {
  const { id, index, name, arguments: own, input, parameters, function: nested, ...others } = call;
  const fn = isObject(nested) ? nested : { name: typeof nested === 'string' ? nested : name };
  const { arguments: given = own ?? input ?? parameters, parameters: other, ...rest } = fn;
  const value = given ?? other ?? given;
  return {
    ...others,
    type: 'function',
    id: typeof id === 'number' ? String(id) : id,
    index: typeof index === 'string' && index !== '' ? Number(index) : index,
    function: {
      ...(name === undefined ? {} : { name }),
      ...rest,
      arguments: isObject(value) || Array.isArray(value) ? JSON.stringify(value) : value,
    },
  };
}

const isCall = (value: Json): boolean =>
  ['function', 'name', 'arguments', 'id'].some((key) => Object.hasOwn(value, key));

/** A message's calls: a list, one call, or calls by their index. */
function callsOf({ tool_calls: calls, tool_call: single, function_call: older, content }: Json): Json[] {
  const given = calls ?? single;
  const listed = isObject(given) ? (isCall(given) ? [given] : Object.values(given)) : given;
  const inContent = objects(content).filter(
    ({ type }) => type === 'tool_use' || type === 'tool_call' || type === 'function',
  );
  const before = isObject(older) ? [{ index: 0, function: older }] : [];
  return [...objects(listed), ...(objects(listed).length > 0 ? [] : before), ...inContent].map(repairCall);
}

/** One choice has sent these parts so far. */
interface Sent {
  text: string;
  calls: boolean;
}

/** Repairs the messages and deltas of one response. */
export interface MessageRepair {
  /** @returns the delta; undefined if the choice adds nothing */
  delta(choice: Json): Json | undefined;
  /** @returns the calls that are still held, when the response ends */
  end(): Json[];
}

/** @param offered the request's tool names */
export function createMessageRepair(offered: ReadonlySet<string>): MessageRepair {
  const names: CallNames = createCallNames(offered);
  const sent = new Map<unknown, Sent>();
  /** The first choice with a content: other ones are alternatives, of which only calls can belong to it. */
  let main: unknown;

  const hasContent = (part: Json): boolean =>
    textOf(part['content']) !== '' ||
    objects(part['content']).length > 0 ||
    textOf(part['reasoning_content']) !== '' ||
    callsOf(part).length > 0;

  /** A message repeats earlier deltas, or is the only part of the response. */
  function withoutRepetition(message: Json, before: Sent): Json {
    const { content, tool_calls: _calls, tool_call: _call, function_call: _older, ...rest } = message;
    const text = textOf(content);
    const added = before.text !== '' && text.startsWith(before.text) ? text.slice(before.text.length) : text;
    return {
      ...(before.text === '' && !before.calls ? rest : {}),
      content: before.text === '' ? content : text.startsWith(before.text) ? added : null,
      ...(before.calls ? {} : { tool_calls: callsOf(message) }),
    };
  }

  /** The part of a choice that adds something: some servers send both a delta and a message. */
  function partOf({ delta: sentDelta, message: sentMessage, text }: Json, before: Sent): Json | undefined {
    const delta =
      typeof sentDelta === 'string' ? { content: sentDelta } : isObject(sentDelta) ? typed(sentDelta) : undefined;
    const message = isObject(sentMessage) ? typed(sentMessage) : undefined;
    const bare = typeof text === 'string' ? { content: text } : undefined;
    if (isObject(delta) && (hasContent(delta) || !isObject(message))) {
      return typeof delta['text'] === 'string' && delta['content'] === undefined
        ? { ...delta, content: delta['text'] }
        : Object.keys(delta).length === 0
          ? (bare ?? delta)
          : delta;
    }
    if (!isObject(message)) return bare;
    const whole =
      message['content'] === undefined && typeof message['text'] === 'string'
        ? { ...message, content: message['text'] }
        : message;
    return withoutRepetition(whole, before);
  }

  function ofOther(part: Json, mainSent: Sent | undefined): Json | undefined {
    const calls = callsOf(part);
    return calls.length > 0 && mainSent?.calls !== true ? { tool_calls: calls } : undefined;
  }

  return {
    delta(choice) {
      const index = choice['index'] ?? 0;
      const before = sent.get(index) ?? { text: '', calls: false };
      const part = partOf(choice, before);
      if (part === undefined) return undefined;
      if (main === undefined && hasContent(part)) main = index;
      const own = main === undefined || main === index ? part : ofOther(part, sent.get(main));
      if (own === undefined) return undefined;
      const calls = callsOf(own);
      sent.set(index, { text: before.text + textOf(own['content']), calls: before.calls || calls.length > 0 });
      // Servers send various roles, and they have no meaning here.
      const { role: _role, tool_calls: given, tool_call: _call, function_call: _older, ...rest } = own;
      const held = calls.length > 0 || given !== undefined ? { tool_calls: names.add(calls) } : {};
      return { ...rest, ...held };
    },
    end: names.end,
  };
}
