import { AgentRole } from '@uswarm/runtime-proto';
import { ACTION_CARD_TOOL, TOOL_SERVER_TOOLS, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { builtInTools } from '../../tools/built-in-tools.js';
import type { FunctionTool } from '../port.js';
import { argumentsFor } from './arguments.js';

const toolOf = (name: string, inputSchema: unknown): FunctionTool => ({
  type: 'function',
  name,
  inputSchema: inputSchema as FunctionTool['inputSchema'],
});
const toolWith = (input: z.ZodObject, name = 'plan'): FunctionTool =>
  toolOf(name, z.toJSONSchema(input, { io: 'input' }));

const search = toolOf(WEB_SEARCH_TOOL, TOOL_SERVER_TOOLS[WEB_SEARCH_TOOL]?.inputSchema);

const plan = toolWith(
  z.strictObject({
    title: z.string(),
    count: z.int().optional(),
    ratio: z.number().optional(),
    urgent: z.boolean().optional(),
    level: z.enum(['low', 'high']).optional(),
    tags: z.array(z.string()).optional(),
    numbers: z.array(z.int()).optional(),
    place: z.object({ street: z.string(), floor: z.int().optional() }).optional(),
    steps: z
      .array(z.object({ agent: z.string(), after: z.array(z.int()).optional(), note: z.string().optional() }))
      .optional(),
    cleared: z.string().nullable().optional(),
    either: z.union([z.int(), z.array(z.string())]).optional(),
  }),
);

const title = { title: 'A' };

describe('the arguments of a call', () => {
  it.each<[string, object, object]>([
    ['null for an optional field', { ...title, count: null, tags: null, place: null }, title],
    ['null in an object', { ...title, place: { street: 'B', floor: null } }, { ...title, place: { street: 'B' } }],
    [
      'null in objects of a list',
      {
        ...title,
        steps: [
          { agent: 'a', after: null, note: null },
          { agent: 'b', note: 'c' },
        ],
      },
      { ...title, steps: [{ agent: 'a' }, { agent: 'b', note: 'c' }] },
    ],
    ['null in a list', { ...title, tags: ['a', null, 'b'] }, { ...title, tags: ['a', 'b'] }],
    ['null for an unknown field', { ...title, other: null }, title],
    ['a whole number as text', { ...title, count: '3' }, { ...title, count: 3 }],
    ['a whole number with a fraction of zero', { ...title, count: ' 3.0 ' }, { ...title, count: 3 }],
    ['a number as text', { ...title, ratio: '-1.5e2' }, { ...title, ratio: -150 }],
    ['a boolean as text', { ...title, urgent: 'True' }, { ...title, urgent: true }],
    ['a list as text', { ...title, tags: '["a", "b"]' }, { ...title, tags: ['a', 'b'] }],
    ['a list with other quotes as text', { ...title, tags: "['a', 'b']" }, { ...title, tags: ['a', 'b'] }],
    ['a list of numbers as text', { ...title, numbers: ['1', '2'] }, { ...title, numbers: [1, 2] }],
    [
      'an object as text',
      { ...title, place: '{"street": "B", "floor": "2"}' },
      { ...title, place: { street: 'B', floor: 2 } },
    ],
    ['objects of a list as texts', { ...title, steps: ['{"agent": "a"}'] }, { ...title, steps: [{ agent: 'a' }] }],
    ['one value for a list', { ...title, tags: 'a' }, { ...title, tags: ['a'] }],
    ['one number for a list', { ...title, numbers: '7' }, { ...title, numbers: [7] }],
    ['one object for a list', { ...title, steps: { agent: 'a' } }, { ...title, steps: [{ agent: 'a' }] }],
    ['a list in the form of XML', { ...title, tags: { item: ['a', 'b'] } }, { ...title, tags: ['a', 'b'] }],
    ['another word for a boolean', { ...title, urgent: 'yes' }, { ...title, urgent: true }],
    ['a number for a boolean', { ...title, urgent: 0 }, { ...title, urgent: false }],
    ['a value in the form of its schema', { title: { type: 'string', value: 'A' } }, { title: 'A' }],
    ['an empty wrapper beside the arguments', { args: [], kwargs: title }, title],
    ['a list of one value for a value', { title: ['A'], count: [2] }, { title: 'A', count: 2 }],
    ['a number for a text', { title: 7 }, { title: '7' }],
    ['a boolean for a text', { title: false }, { title: 'false' }],
    ['an allowed value in upper case', { ...title, level: 'HIGH' }, { ...title, level: 'high' }],
    ['an empty text for an optional number', { ...title, count: '' }, title],
    ['the text null for an optional list', { ...title, place: 'null' }, title],
    ['a name with other separators', { Title: 'A' }, title],
    ['a text for one of several types', { ...title, either: '5' }, { ...title, either: 5 }],
  ])('fit the schema after a repair: %s', (_name, sent, expected) => {
    expect(argumentsFor(plan, JSON.stringify(sent))).toEqual(expected);
  });

  it.each<[string, object]>([
    ['texts that look like other types', { title: '3', tags: ['1', 'true', 'null'], cleared: '' }],
    ['null that clears a field', { ...title, cleared: null }],
    ['JSON in a text', { title: '{"a": 1}' }],
    ['a list for one of several types', { ...title, either: ['5'] }],
  ])('stay unchanged if the schema accepts them: %s', (_name, sent) => {
    expect(argumentsFor(plan, JSON.stringify(sent))).toEqual(sent);
  });

  it.each<[string, object]>([
    ['a word for a number', { ...title, count: 'many' }],
    ['a fraction for a whole number', { ...title, count: '3.5' }],
    ['a value that is not allowed', { ...title, level: 'middle' }],
    ['an object for a text', { title: { a: 'b', c: 'd' } }],
    ['several values for one', { ...title, count: [1, 2] }],
  ])('stay as they are if no repair fits, so that the tool explains them: %s', (_name, sent) => {
    expect(argumentsFor(plan, JSON.stringify(sent))).toEqual(sent);
  });

  const query = { query: 'alpha' };
  it.each<[string, string]>([
    ['plain', '{"query":"alpha"}'],
    ['encoded twice', JSON.stringify('{"query":"alpha"}')],
    ['encoded three times', JSON.stringify(JSON.stringify('{"query":"alpha"}'))],
    ['fenced', '```json\n{"query": "alpha"}\n```'],
    ['fenced and encoded', JSON.stringify('```json\n{"query": "alpha"}\n```')],
    ['with an empty object before them', '{}{"query":"alpha"}'],
    ['sent twice', '{"query":"alpha"}{"query": "alpha"}'],
    ['with a bracket too many', '{"query":"alpha"}}'],
    ['with the end of a tag', '{"query":"alpha"}\n</tool_call>'],
    ['with a special token', '{"query":"alpha"}<|im_end|>'],
    ['with words before them', 'json{"query": "alpha"}'],
    ['in the form of Python', "{'query': 'alpha', 'max_results': None}"],
    ['with a comma at the end', '{"query": "alpha",}'],
    ['without quotes around the name', '{query: "alpha"}'],
    ['with a comment', '{"query": "alpha" // the query\n}'],
    ['with typographic quotes', '{“query”: “alpha”}'],
    ['with quotes that are escaped once too often', String.raw`{\"query\": \"alpha\"}`],
    ['with two braces on each side', '{{query: "alpha"}}'],
    ['with special tokens as quotes', '{"query": <|"|>alpha<|"|>}'],
    ['with escapes between them', String.raw`{"query": \n"alpha"\n}`],
    ['in a list', '[{"query":"alpha"}]'],
    ['in arguments', '{"arguments": {"query": "alpha"}}'],
    ['in parameters', '{"parameters": {"query": "alpha"}}'],
    ['in input', '{"input": "{\\"query\\": \\"alpha\\"}"}'],
    ['in a whole call', '{"name": "web_search_tool", "arguments": {"query": "alpha"}}'],
    ['in a whole call with encoded arguments', '{"name":"web_search_tool","arguments":"{\\"query\\":\\"alpha\\"}"}'],
    ['in a function', '{"type":"function","function":{"name":"web_search_tool","arguments":{"query":"alpha"}}}'],
    ['in the name of the tool', '{"web_search_tool": {"query": "alpha"}}'],
    ['in the form of a schema', '{"type": "object", "properties": {"query": "alpha"}}'],
  ])('are the same: %s', (_name, sent) => {
    expect(argumentsFor(search, sent)).toEqual(query);
  });

  it.each(['', ' ', 'null', '{}', '[]', '""', 'None', '"{}"'])('are empty: %j', (sent) => {
    expect(argumentsFor(search, sent)).toEqual({});
  });

  it('keep a line break, a tabulator and a path that are not escaped', () => {
    expect(argumentsFor(search, '{"query": "a\nb\tc"}')).toEqual({ query: 'a\nb\tc' });
    expect(argumentsFor(search, String.raw`{"query": "\d+ in C:\windows"}`)).toEqual({
      query: String.raw`\d+ in C:\windows`,
    });
  });

  it.each([
    '{"query":"al',
    '{"query":"alpha"',
    '{"query":"alpha", "max_results"',
    "{'query': 'al",
    '{"arguments": {"query": "alpha"}',
    '```json\n{"query": "alp',
    'search for alpha',
    '<query>alpha</query>',
    '{"query":"alpha"}{"query":"beta"}',
    '"alpha"',
    '7',
    'true',
    '{alpha}',
    '{"query": "alpha", ...}',
    "{'words': 'alpha'}",
  ])('are none: %j', (sent) => {
    expect(argumentsFor(search, sent)).toBeUndefined();
  });

  it('are not unwrapped if the tool has a field of that name', () => {
    const tool = toolWith(z.object({ input: z.object({ query: z.string() }) }));
    expect(argumentsFor(tool, '{"input": {"query": "alpha"}}')).toEqual({ input: { query: 'alpha' } });
    const loose = toolOf('run', { type: 'object', properties: {} });
    expect(argumentsFor(loose, '{"arguments": {"query": "alpha"}}')).toEqual({ arguments: { query: 'alpha' } });
    expect(argumentsFor(loose, '{"name": "run", "arguments": {"query": "alpha"}}')).toEqual({ query: 'alpha' });
  });

  it('follow references and parts of a schema', () => {
    const step = { type: 'object', properties: { note: { type: 'string' }, next: { $ref: '#/$defs/step' } } };
    const tool = toolOf('walk', {
      type: 'object',
      properties: { first: { allOf: [{ $ref: '#/$defs/step' }] } },
      $defs: { step },
    });
    const sent = { first: { note: null, next: '{"note": 5, "next": null}' } };
    expect(argumentsFor(tool, JSON.stringify(sent))).toEqual({ first: { next: { note: '5' } } });
  });

  it('stay unchanged if the tool is unknown', () => {
    expect(argumentsFor(undefined, '{"a": null, "b": "3"}')).toEqual({ a: null, b: '3' });
  });
});

/** Generates a schema with a value that it accepts. */
const { field } = fc.letrec<{ field: { schema: z.ZodType; value: unknown } }>((tie) => ({
  field: fc.oneof(
    { maxDepth: 3 },
    fc.record({ schema: fc.constant(z.string() as z.ZodType), value: fc.string() as fc.Arbitrary<unknown> }),
    fc.record({ schema: fc.constant(z.int()), value: fc.integer() }),
    fc.record({ schema: fc.constant(z.boolean()), value: fc.boolean() }),
    fc.record({ schema: fc.constant(z.enum(['a', 'B'])), value: fc.constantFrom('a', 'B') }),
    tie('field').map(({ schema, value }) => ({ schema: z.array(schema), value: [value, value] })),
    tie('field').map(({ schema, value }) => ({
      schema: z.object({ needed: schema, extra: schema.optional() }),
      value: { needed: value },
    })),
  ),
}));

const optionalOf = ({ inputSchema }: FunctionTool): string[] =>
  Object.keys(inputSchema.properties ?? {}).filter((name) => inputSchema.required?.includes(name) !== true);

const { listed: cards } = builtInTools(
  { skillDocuments: [], role: AgentRole.MANAGER },
  { tools: [ACTION_CARD_TOOL], isTask: false },
);

it.each([search, ...cards.map(({ definition }) => definition)])(
  'the arguments of $name are the same with all optional fields as null and without them',
  (tool) => {
    const nulls = Object.fromEntries(optionalOf(tool).map((name) => [name, null]));
    expect(argumentsFor(tool, JSON.stringify(nulls))).toEqual({});
  },
);

describe('the arguments of any tool', () => {
  const names = ['one', 'two', 'three', 'four'];
  const fields = fc.array(field, { minLength: 1, maxLength: 4 });

  it('are the same with all optional fields as null and without them', () => {
    fc.assert(
      fc.property(fields, fields, (needed, extra) => {
        const shape = Object.fromEntries([
          ...needed.map(({ schema }, index) => [`needed_${names[index]}`, schema] as const),
          ...extra.map(({ schema }, index) => [`extra_${names[index]}`, schema.optional()] as const),
        ]);
        const tool = toolWith(z.object(shape));
        const sent = Object.fromEntries(needed.map(({ value }, index) => [`needed_${names[index]}`, value]));
        const nulls = Object.fromEntries(extra.map((_, index) => [`extra_${names[index]}`, null]));
        const without = argumentsFor(tool, JSON.stringify(sent));
        expect(argumentsFor(tool, JSON.stringify({ ...sent, ...nulls }))).toEqual(without);
        expect(argumentsFor(tool, JSON.stringify(JSON.stringify({ ...nulls, ...sent })))).toEqual(without);
      }),
    );
  });

  it('stay unchanged if the schema accepts them', () => {
    fc.assert(
      fc.property(fields, (needed) => {
        const shape = Object.fromEntries(needed.map(({ schema }, index) => [names[index] ?? '', schema]));
        const sent = Object.fromEntries(needed.map(({ value }, index) => [names[index] ?? '', value]));
        expect(argumentsFor(toolWith(z.object(shape)), JSON.stringify(sent))).toEqual(sent);
      }),
    );
  });

  it('are none if the text is cut', () => {
    fc.assert(
      fc.property(fields, fc.nat(), (needed, at) => {
        const shape = Object.fromEntries(needed.map(({ schema }, index) => [names[index] ?? '', schema]));
        const text = JSON.stringify(Object.fromEntries(needed.map(({ value }, index) => [names[index] ?? '', value])));
        const cut = text.slice(0, 1 + (at % (text.length - 1)));
        expect(argumentsFor(toolWith(z.object(shape)), cut)).toBeUndefined();
      }),
    );
  });
});
