import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { CLIENT_EVENTS } from './events/client.js';
import { ROUTES, type RouteDefinition } from './routes/index.js';
import { safeParseRequest } from './safe-parse-request.js';

/** In these request fields null differs from absence. Their descriptions state its effect. */
const CLEARING = [
  'updateConversation.title',
  'updateSchedule.rrule',
  'updateSchedule.token_limit',
  'updateTrigger.token_limit',
  'updateUser.date_of_birth',
  'updateWorkspaceBudget.monthly_cost_micros',
  'updateWorkspaceBudget.monthly_tokens',
];
/** Fields whose null has the meaning of absence already. */
const SAME = ['createConversation.agent_id', 'createConversation.title'];

const CLIENT_EVENT_EXAMPLES: Record<string, unknown> = {
  'workspace.subscribe': { workspace_ids: ['w'], since: { w: 4, v: 'e1:5' } },
  'workspace.unsubscribe': { workspace_ids: ['w'] },
  'message.send': {
    workspace_id: 'w',
    conversation_id: 'c',
    local_id: 'l',
    content: { type: 'text', text: 'Hello' },
    mentions: [{ agent_id: crypto.randomUUID(), agent_name: 'Researcher', offset: 0, length: 2 }],
    attachments: [{ id: crypto.randomUUID() }],
  },
  position: { w: 4, v: 5 },
  'session.renew': { credentials: { 'x-token': 't', 'x-version': '1' } },
};

interface Request {
  name: string;
  schema: z.ZodType;
  value: unknown;
}
const requests: Request[] = [
  ...(ROUTES as readonly RouteDefinition[]).flatMap(({ operationId: name, body: schema, example }) =>
    schema === undefined ? [] : Object.values(example.body ?? {}).map((value) => ({ name, schema, value })),
  ),
  ...Object.entries(CLIENT_EVENTS).map(([name, { payload: schema }]) => ({
    name,
    schema,
    value: CLIENT_EVENT_EXAMPLES[name],
  })),
];

type Path = (string | number)[];

/** Lists a value's optional fields, including absent ones. */
function optionalFields(schema: z.ZodType, value: unknown, path: Path = []): Path[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    return optionalFields(schema.def.innerType as z.ZodType, value, path);
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((entry, index) => optionalFields(schema.element as z.ZodType, entry, [...path, index]));
  if (schema instanceof z.ZodRecord) return Object.keys(value ?? {}).map((key) => [...path, key]);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([key, field]) => [
    ...(field.isOptional() ? [[...path, key]] : []),
    ...optionalFields(field, (value as Record<string, unknown> | undefined)?.[key], [...path, key]),
  ]);
}

/** A copy with a field that is null, or without it; undefined if the value lacks the field's parent. */
function changed(value: unknown, path: Path, how: 'null' | 'absent'): unknown {
  const copy = structuredClone(value);
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as never)?.[key], copy);
  const key = path.at(-1)!;
  if (typeof parent !== 'object' || parent === null) return undefined;
  if (how === 'null') Object.assign(parent, { [key]: null });
  else delete (parent as Record<string, unknown>)[key];
  return copy;
}

const nameOf = (request: string, path: Path): string => [request, ...path].join('.');
const outcome = (schema: z.ZodType, value: unknown) => {
  const { data, error } = safeParseRequest(schema, value);
  return error === undefined ? { data } : { issues: error.issues };
};

const cases = requests.flatMap((request) =>
  optionalFields(request.schema, request.value)
    .filter((path) => changed(request.value, path, 'null') !== undefined)
    .map((path) => ({ ...request, path, field: nameOf(request.name, path) })),
);

describe('a null in a request', () => {
  it('is tested in the fields of every kind of request that has optional fields', () => {
    const fields = new Set(cases.map(({ field }) => field.replaceAll(/\.\d+/g, '[]')));
    expect([...fields]).toEqual(
      expect.arrayContaining([
        'sendMessage.attachments',
        'sendMessage.local_id',
        'sendMessage.mentions[].agent_name',
        'updateUser.preferences.platform_theme',
        'message.send.mentions',
        'workspace.subscribe.since',
        'session.renew.credentials.x-device-id',
        ...CLEARING,
        ...SAME,
      ]),
    );
  });

  it.each(cases.filter(({ field }) => ![...CLEARING, ...SAME].includes(field)))(
    'has the meaning of an absent $field',
    ({ schema, value, path }) => {
      expect(outcome(schema, changed(value, path, 'null'))).toEqual(outcome(schema, changed(value, path, 'absent')));
    },
  );

  it.each(CLEARING)('is kept in %s, whose description states what it does', (field) => {
    const { schema, value, path } = cases.find((one) => one.field === field)!;
    expect(outcome(schema, changed(value, path, 'null'))).toEqual({
      data: expect.objectContaining({ [path[0]!]: null }),
    });
    const described = ((schema as z.ZodObject).shape as Record<string, z.ZodOptional<z.ZodType>>)[String(path[0])];
    expect(described?.unwrap().description).toMatch(/\bnull\b/i);
  });

  it('has the meaning of absence in any number of fields', () => {
    const request = fc.constantFrom(...requests).chain(({ name, schema, value }) => {
      const paths = optionalFields(schema, value).filter(
        (path) => ![...CLEARING, ...SAME].includes(nameOf(name, path)),
      );
      return fc.record({ schema: fc.constant(schema), value: fc.constant(value), paths: fc.subarray(paths) });
    });
    fc.assert(
      fc.property(request, ({ schema, value, paths }) => {
        const all = (how: 'null' | 'absent') =>
          paths.toReversed().reduce<unknown>((at, path) => changed(at, path, how) ?? at, value);
        expect(outcome(schema, all('null'))).toEqual(outcome(schema, all('absent')));
      }),
    );
  });

  it('is refused as an entry of a list, which is not a field', () => {
    const schema = z.object({ ids: z.array(z.string()).default([]) });
    expect(safeParseRequest(schema, { ids: ['a', null] }).error?.issues[0]?.path).toEqual(['ids', 1]);
  });

  it('is refused with the name of the field where the field is required', () => {
    const { error } = safeParseRequest(z.object({ id: z.string() }), { id: null });
    expect(error?.issues).toMatchObject([{ path: ['id'], message: expect.stringContaining('undefined') }]);
  });

  it('is found in the variants of a union, in lists and in maps', () => {
    const Entry = z.union([z.object({ n: z.int(), note: z.string().optional() }), z.string()]);
    const schema = z.object({ list: z.array(Entry), map: z.record(z.string(), z.int()) });
    const value = { list: ['a', { n: 1, note: null }], map: { a: 1, b: null } };
    expect(safeParseRequest(schema, value).data).toEqual({ list: ['a', { n: 1 }], map: { a: 1 } });
  });

  it('does not change the value that was sent', () => {
    const value = { a: null };
    safeParseRequest(z.object({ a: z.string().optional() }), value);
    expect(value).toEqual({ a: null });
  });
});
