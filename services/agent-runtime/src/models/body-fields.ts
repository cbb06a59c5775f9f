// Request fields that not all servers of the same protocol know.

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objects = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Without these, a request is not one of its protocol. */
const ESSENTIAL: ReadonlySet<string> = new Set(
  (
    'model messages role content type text name description parameters input_schema function tool_calls tool_call_id ' +
    'tool_use_id id arguments input source image_url url media_type data index tools system properties items required enum ' +
    'is_error title'
  ).split(' '),
);

/** Request objects with protocol fields: messages, content blocks, calls and tools. */
function partsOf(body: Json): Json[] {
  const messages = objects(body['messages']);
  const blocks = [...messages, body].flatMap(({ content, system }) => [...objects(content), ...objects(system)]);
  const inner = blocks.flatMap(({ content }) => objects(content));
  const calls = messages.flatMap(({ tool_calls: list }) => objects(list));
  const tools = objects(body['tools']);
  return [
    body,
    ...messages,
    ...blocks,
    ...inner,
    ...calls,
    ...tools,
    ...tools.map((tool) => tool['function']).filter(isObject),
  ];
}

/** Returns a schema and its nested schemas. A property name is not a field that can be left out. */
function schemasIn(schema: unknown): Json[] {
  if (!isObject(schema)) return [];
  const { properties, items, anyOf, oneOf, allOf, additionalProperties } = schema;
  const inner = [
    ...(isObject(properties) ? Object.values(properties) : []),
    items,
    additionalProperties,
    ...[anyOf, oneOf, allOf].flatMap(objects),
  ];
  return [schema, ...inner.flatMap(schemasIn)];
}

const schemasOf = (body: Json): Json[] =>
  objects(body['tools']).flatMap((tool) => {
    const called = isObject(tool['function']) ? tool['function'] : tool;
    return schemasIn(called['parameters'] ?? called['input_schema']);
  });

const fieldParts = (body: Json): Json[] => [...partsOf(body), ...schemasOf(body)];

/** Lists the field names that a request can do without. */
export function optionalFields(body: unknown): string[] {
  if (!isObject(body)) return [];
  return [...new Set(fieldParts(body).flatMap((part) => Object.keys(part)))].filter((name) => !ESSENTIAL.has(name));
}

/** The body without these fields, wherever they are. Changes `body`. */
export function withoutFields(body: Json, names: ReadonlySet<string>): Json {
  for (const part of fieldParts(body)) {
    for (const name of names) if (!ESSENTIAL.has(name)) Reflect.deleteProperty(part, name);
  }
  return body;
}

/** Structural request parts. */
export function structuralParts(body: unknown): Set<string> {
  if (!isObject(body)) return new Set();
  const messages = objects(body['messages']);
  const blocks = messages.flatMap(({ content }) => objects(content));
  const types = new Set([...blocks, ...blocks.flatMap(({ content }) => objects(content))].map(({ type }) => type));
  const has = {
    tools: 'tools' in body || types.has('tool_use') || messages.some(({ tool_calls: calls }) => calls !== undefined),
    system: 'system' in body || messages.some(({ role }) => role === 'system' || role === 'developer'),
    images: types.has('image') || types.has('image_url'),
    reasoning: types.has('thinking') || types.has('redacted_thinking'),
  };
  return new Set(Object.entries(has).flatMap(([name, isSent]) => (isSent ? [name] : [])));
}
