import { describe, expect, it } from '@jest/globals';
import { buildAsyncApi, buildOpenApi } from './index.js';

type JsonObject = Record<string, unknown>;

const copied = (document: unknown): JsonObject => JSON.parse(JSON.stringify(document)) as JsonObject;
const openApi = copied(buildOpenApi({ bypass: true }));
const asyncApi = copied(buildAsyncApi({ bypass: true }));
const DOCUMENTS = [
  ['openapi.json', openApi],
  ['asyncapi.json', asyncApi],
] as const;

/** Their contents are data, not schemas. */
const DATA = new Set(['example', 'examples', 'x-error-catalogue', 'bindings']);

/** All objects in a document except data, each with the keys that lead to it. */
function* objectsIn(node: unknown, path: string[] = []): Generator<[JsonObject, string[]]> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield [node as JsonObject, path];
  for (const [key, value] of Object.entries(node)) if (!DATA.has(key)) yield* objectsIn(value, [...path, key]);
}

interface Described {
  /** For the failure list. */
  place: string;
  /** Already known to the reader: the name, and the enclosing schema's. */
  names: string[];
  description: unknown;
}

const schemasOf = (document: JsonObject): [string, JsonObject][] =>
  Object.entries((document['components'] as { schemas: Record<string, JsonObject> }).schemas);

const schemasIn = (document: JsonObject): Described[] =>
  schemasOf(document).map(([name, { description }]) => ({ place: name, names: [name], description }));

const propertiesIn = (document: JsonObject): Described[] =>
  [...objectsIn(document)].flatMap(([{ properties }, path]) =>
    typeof properties !== 'object' || properties === null || path.at(-1) === 'properties'
      ? []
      : Object.entries(properties as Record<string, JsonObject>).map(([name, { description }]) => ({
          place: `${path.join('.')}.${name}`,
          names: [name, path.findLast((key) => /^[A-Z]/.test(key)) ?? ''],
          description,
        })),
  );

const operationsIn = (document: JsonObject): JsonObject[] =>
  Object.values(document['paths'] as Record<string, Record<string, JsonObject>>).flatMap((item) => Object.values(item));

/** Words that add nothing to a name. */
const EMPTY = new Set(
  'a an the of this that its it is are for to in on or and with by as which what value field property object data'.split(
    ' ',
  ),
);

/** Meaningful words in the singular: `AgentTool` and `agent_tool` have two. */
const wordsIn = (text: string): string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !EMPTY.has(word))
    .map((word) => word.replace(/s$/, ''));

const isSentence = (text: unknown): text is string =>
  typeof text === 'string' && /^[^a-z]/.test(text) && /[.)…]$/.test(text.trim());

/** Places without a sentence that tells more than their names. */
function poorlyDescribed(all: readonly Described[]): string[] {
  return all
    .filter(({ names, description }) => {
      const known = new Set(names.flatMap(wordsIn));
      return !isSentence(description) || wordsIn(description).every((word) => known.has(word));
    })
    .map(({ place, description }) => `${place}: ${String(description)}`);
}

describe.each(DOCUMENTS)('the descriptions of %s', (_name, document) => {
  it('describe each schema beyond its name', () => {
    expect(schemasIn(document).length).toBeGreaterThan(70);
    expect(poorlyDescribed(schemasIn(document))).toEqual([]);
  });

  it('describe each property beyond its name', () => {
    expect(propertiesIn(document).length).toBeGreaterThan(200);
    expect(poorlyDescribed(propertiesIn(document))).toEqual([]);
  });
});

describe('the descriptions of operations', () => {
  it('tell more than the summary', () => {
    const described = operationsIn(openApi).map(({ operationId, summary, description }) => ({
      place: String(operationId),
      names: [String(operationId), String(summary)],
      description,
    }));
    expect(poorlyDescribed(described)).toEqual([]);
  });

  it('describe each parameter beyond its name', () => {
    const shared = Object.values((openApi['components'] as { parameters: JsonObject }).parameters) as JsonObject[];
    const own = operationsIn(openApi).flatMap(({ operationId, parameters = [] }) =>
      (parameters as JsonObject[]).map((parameter) => ({ ...parameter, of: operationId })),
    );
    const described = [...shared, ...own].map((parameter: JsonObject) => ({
      place: `${String(parameter['of'])}: ${String(parameter['name'])}`,
      names: [String(parameter['name'])],
      description: parameter['description'],
    }));
    expect(described.length).toBeGreaterThan(100);
    expect(poorlyDescribed(described)).toEqual([]);
  });
});

describe('poorlyDescribed', () => {
  const place = (description: unknown) => [{ place: 'x', names: ['created_at', 'AgentTool'], description }];

  it.each([undefined, '', 'created', 'Created at.', 'The created at of the agent tool.', 'The tools of this agent.'])(
    'refuses %j for created_at of AgentTool',
    (description) => {
      expect(poorlyDescribed(place(description))).toHaveLength(1);
    },
  );

  it('accepts a sentence that tells more', () => {
    expect(poorlyDescribed(place('When the user enabled it, in UTC.'))).toEqual([]);
  });
});

describe('the lists of values', () => {
  it.each(DOCUMENTS)('are texts in %s: generated clients add a text for unknown values to each', (_name, document) => {
    const others = [...objectsIn(document)].filter(([schema, path]) => {
      const values = schema['enum'] ?? ('const' in schema ? [schema['const']] : []);
      return path.at(-1) !== 'properties' && (values as unknown[]).some((value) => typeof value !== 'string');
    });
    expect(others.map(([, path]) => path.join('.'))).toEqual([]);
  });
});

describe('the names of types', () => {
  it.each(DOCUMENTS)('belong to every object in %s, so that generators need not invent some', (_name, document) => {
    const anonymous = [...objectsIn(document)]
      .filter(([{ properties }, path]) => properties !== undefined && path.at(-1) !== 'properties')
      .map(([, path]) => path)
      // Form parts become arguments.
      .filter((path) => !(path.length === 3 && path[1] === 'schemas') && !path.includes('multipart/form-data'));
    expect(anonymous.map((path) => path.join('.'))).toEqual([]);
  });

  it.each(DOCUMENTS)('do not end in a status or in Inner in %s', (_name, document) => {
    expect(schemasOf(document).filter(([name]) => /\d|Inner$|Response$|OneOf|AnyOf/.test(name))).toEqual([]);
  });

  it('are references in all JSON responses and bodies', () => {
    const inline = operationsIn(openApi).flatMap(({ operationId, responses, requestBody }) =>
      [...objectsIn({ responses, requestBody })]
        .filter(([, path]) => path.at(-1) === 'application/json')
        .filter(([{ schema }]) => typeof (schema as JsonObject)['$ref'] !== 'string')
        .map(([, path]) => `${String(operationId)}: ${path.join('.')}`),
    );
    expect(inline).toEqual([]);
  });
});

describe.each(DOCUMENTS)('the lists of values in %s', (_name, document) => {
  it('are marked as extensible', () => {
    const lists = [...objectsIn(document)].filter(
      ([{ enum: values, type }]) => values !== undefined && type === 'string',
    );
    expect(lists.length).toBeGreaterThan(20);
    expect(
      lists.filter(([{ enum: values, 'x-extensible-enum': open }]) => values === open || open === undefined),
    ).toEqual([]);
  });

  it('may grow, as the general description states', () => {
    const { description } = document['info'] as { description: string };
    expect(description).toMatch(/values may be added/i);
    expect(description).toContain('UnknownContent');
  });
});
