// Joins tool names that a server sends in several parts.

type Json = Record<string, unknown>;

interface HeldCall {
  call: Json;
  name: string;
}

export interface CallNames {
  /** @returns the calls of one chunk, without those whose name may continue in the next chunk */
  add(calls: readonly Json[]): Json[];
  /** @returns the calls that are still held, when the response ends */
  end(): Json[];
}

const partOf = (call: Json): Json => (call['function'] ?? {}) as Json;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * A name is complete when arguments or another call follow. Until then the call is held, because the client library
 * takes each further part of a name for a further call.
 *
 * @param offered the request's tool names
 */
export function createCallNames(offered: ReadonlySet<string>): CallNames {
  /** By index; calls without an index have the same key. */
  const held = new Map<unknown, HeldCall>();

  const beginsName = (text: string): boolean => [...offered].some((name) => name.startsWith(text));

  /** @returns the call's name with this further part; undefined if the part is another call's name */
  function joined({ call, name }: HeldCall, part: string, id: unknown): string | undefined {
    if (part === '' || part === name) return name;
    if (!offered.has(name) && beginsName(`${name}${part}`)) return `${name}${part}`;
    if (offered.has(part)) return !offered.has(name) && part.startsWith(name) ? part : undefined;
    const isOther = id !== undefined && id !== null && id !== '' && id !== call['id'];
    return isOther ? undefined : `${name}${part}`;
  }

  const release = ({ call, name }: HeldCall, input: unknown): Json => ({
    ...call,
    function: { ...partOf(call), name, arguments: input },
  });

  function addCall(call: Json): Json[] {
    const { index: key, id } = call;
    const { name, arguments: input } = partOf(call);
    const part = textOf(name);
    const open = held.get(key);
    const known = open === undefined ? undefined : joined(open, part, id);
    if (open !== undefined && known !== undefined) {
      const first = { ...open.call, id: open.call['id'] || id };
      if (textOf(input) === '') {
        held.set(key, { call: first, name: known });
        return [];
      }
      held.delete(key);
      return [release({ call: first, name: known }, input)];
    }
    const before = open === undefined ? [] : [release(open, '')];
    held.delete(key);
    if (part === '' || textOf(input) !== '') return [...before, call];
    held.set(key, { call, name: part });
    return before;
  }

  return {
    add: (calls) => calls.flatMap(addCall),
    end() {
      const rest = [...held.values()].map((call) => release(call, ''));
      held.clear();
      return rest;
    },
  };
}
