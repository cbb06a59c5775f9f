import { readFile } from 'node:fs/promises';
import { Parser } from '@asyncapi/parser';
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { z } from 'zod';
import { MessageContentType } from '../enums.js';
import { ERRORS } from '../errors.js';
import { CLIENT_EVENTS } from '../events/client.js';
import { DURABLE_EVENTS } from '../enums.js';
import { SERVER_EVENTS } from '../events/server.js';
import { CREDENTIAL_HEADERS } from '../events/sessions.js';
import { GATEWAY_ROUTES, ROUTES } from '../routes/index.js';
import { generatedFiles } from './files.js';
import { buildAsyncApi, buildOpenApi } from './index.js';

type JsonObject = Record<string, unknown>;

const openApi = JSON.parse(JSON.stringify(buildOpenApi())) as JsonObject;
const asyncApi = JSON.parse(JSON.stringify(buildAsyncApi())) as JsonObject;

/** All objects in a document with their paths. */
function* objectsIn(node: unknown, path: string[] = []): Generator<[JsonObject, string[]]> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield [node as JsonObject, path];
  for (const [key, value] of Object.entries(node)) yield* objectsIn(value, [...path, key]);
}

/** All properties in the schemas of a document: [name, schema, path]. */
function propertiesIn(document: JsonObject): [string, JsonObject, string][] {
  return [...objectsIn(document)].flatMap(([node, path]) =>
    typeof node['properties'] === 'object' && path.at(-1) !== 'headers'
      ? Object.entries(node['properties'] as Record<string, JsonObject>).map(
          ([name, schema]): [string, JsonObject, string] => [name, schema, path.join('.')],
        )
      : [],
  );
}

function operations(): [string, string, JsonObject][] {
  return Object.entries(openApi['paths'] as Record<string, Record<string, JsonObject>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, string, JsonObject] => [method, path, operation]),
  );
}

const operation = (id: string): JsonObject => operations().find(([, , { operationId }]) => operationId === id)![2];

describe('the checked-in documents', () => {
  it.each(Object.entries(generatedFiles()))('%s is up to date (else: npm run generate)', async (name, text) => {
    expect(await readFile(new URL(`../../${name}`, import.meta.url), 'utf8')).toBe(text);
  });
});

/** All unions in a document except "a reference or null", with their paths. */
function unionsIn(document: JsonObject): [JsonObject, JsonObject[], string][] {
  return [...objectsIn(document)].flatMap(([node, path]) => {
    const variants = (node['oneOf'] ?? node['anyOf']) as JsonObject[] | undefined;
    if (!Array.isArray(variants)) return [];
    const some = variants.filter(({ type }) => type !== 'null');
    return some.length === 1 && typeof some[0]!['$ref'] === 'string'
      ? []
      : [[node, variants, path.join('.')] as [JsonObject, JsonObject[], string]];
  });
}

/** The variant for types from later releases. */
const UNKNOWN = '#/components/schemas/UnknownContent';

const sortedValues = (mapping: unknown): string[] => Object.values(mapping as Record<string, string>).toSorted();
const sortedRefs = (variants: JsonObject[]): unknown[] => variants.map(({ $ref }) => $ref).toSorted();

describe('the unions of openapi.json', () => {
  it('are only the contents of messages', () => {
    expect(unionsIn(openApi).map(([, , place]) => place)).toEqual(['components.schemas.MessageContent']);
  });

  it('have named variants and a discriminator that maps a value to each known variant', () => {
    for (const [{ discriminator }, variants] of unionsIn(openApi)) {
      const { propertyName, mapping } = discriminator as JsonObject;
      expect(propertyName).toBe('type');
      expect([...sortedValues(mapping), UNKNOWN].toSorted()).toEqual(sortedRefs(variants));
      for (const [value, ref] of Object.entries(mapping as Record<string, string>))
        expect(resolve(openApi, `${ref}/properties/type/const`)).toBe(value);
    }
  });
});

describe('the content of types of later releases', () => {
  it.each([
    ['openapi.json', openApi],
    ['asyncapi.json', asyncApi],
  ])('has a separate variant in %s, which the known types do not match', (_name, document) => {
    const { type } = resolve(document, `${UNKNOWN}/properties`) as Record<string, JsonObject>;
    expect(type).toMatchObject({ type: 'string', not: { enum: MessageContentType.options } });
  });
});

describe('the unions of asyncapi.json', () => {
  it('have named variants, a discriminator field, and a class per value', () => {
    expect(unionsIn(asyncApi).map(([, , place]) => place)).toEqual(['components.schemas.MessageContent']);
    for (const [union, variants] of unionsIn(asyncApi)) {
      expect(union['discriminator']).toBe('type');
      expect([...sortedValues(union['x-discriminator-mapping']), UNKNOWN].toSorted()).toEqual(sortedRefs(variants));
    }
  });
});

describe('openapi.json', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(openApi));
    expect({ valid, errors, version: validator.version }).toEqual({ valid: true, errors: undefined, version: '3.1' });
  });

  it('refers only to existing components', () => {
    const missing = [...objectsIn(openApi)]
      .map(([node]) => node['$ref'])
      .filter((ref): ref is string => typeof ref === 'string')
      .filter((ref) => resolve(openApi, ref) === undefined);
    expect(missing).toEqual([]);
  });

  it('has one operation per route, under its method and path', () => {
    const found = operations().map(([method, path, { operationId }]) => [method, path, operationId]);
    const expected = [...ROUTES, ...GATEWAY_ROUTES].map((route) => [route.method, route.path, route.operationId]);
    expect(found.toSorted()).toEqual(expected.toSorted());
  });

  it('marks only extensions with x-extension', () => {
    const marked = operations().filter(([, , { 'x-extension': mark }]) => mark === true);
    const expected = [...ROUTES, ...GATEWAY_ROUTES].filter((route) => 'extension' in route);
    expect(marked.map(([, , { operationId }]) => operationId).toSorted()).toEqual(
      expected.map((route) => route.operationId as string).toSorted(),
    );
  });

  it('lists all error codes with status, retryability and message', () => {
    expect(openApi['x-error-catalogue']).toEqual(ERRORS);
  });

  it('requires X-Token instead of a bearer token on identity routes, and no credential on public routes', () => {
    const schemes = (id: string) => (operation(id)['security'] as JsonObject[]).map((entry) => Object.keys(entry)[0]);
    expect(schemes('signUp')).toEqual(['idToken']);
    expect(schemes('listWorkspaces')).toEqual(expect.arrayContaining(['idToken', 'bearerIdToken']));
    expect(schemes('getHealth')).toEqual([]);
  });

  it('states the operations that accept API tokens, with the scope that they need', () => {
    const stated = (id: string) => {
      const { security, 'x-token-scope': scope } = operation(id);
      return { scope, accepts: JSON.stringify(security).includes('apiToken') };
    };
    expect(['listWorkspaces', 'sendMessage', 'createApiToken', 'signUp'].map(stated)).toEqual([
      { scope: 'read', accepts: true },
      { scope: 'write', accepts: true },
      { scope: 'session', accepts: false },
      { scope: undefined, accepts: false },
    ]);
  });

  it('groups the errors of an operation by status, with their codes', () => {
    const responses = operation('createConversation')['responses'] as Record<string, JsonObject>;
    expect(Object.keys(responses)).toEqual([
      '201',
      '400',
      '401',
      '403',
      '404',
      '408',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
    expect(responses['400']).toMatchObject({
      'x-error-codes': ['agent_id_not_allowed', 'agent_id_required', 'malformed_json', 'validation_failed'],
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    });
  });

  it('has no default response', () => {
    expect(operations().filter(([, , { responses }]) => 'default' in (responses as JsonObject))).toEqual([]);
  });

  it('names every property in snake_case', () => {
    const odd = propertiesIn(openApi).filter(([name]) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name));
    expect(odd.map(([name, , where]) => `${where}: ${name}`)).toEqual([]);
  });

  it('names every query parameter in snake_case, except the documented scrollId', () => {
    const names = operations()
      .flatMap(([, , { parameters }]) => parameters as JsonObject[])
      .filter((parameter) => parameter['in'] === 'query')
      .map((parameter) => parameter['name'] as string)
      .filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name));
    expect([...new Set(names)]).toEqual(['scrollId']);
  });

  it('has the format date-time for all timestamps', () => {
    const times = propertiesIn(openApi).filter(([name]) => /_at$|^timestamp$|^date_of_birth$/.test(name));
    expect(times.length).toBeGreaterThan(10);
    for (const [name, schema, where] of times) {
      const format = where.endsWith('UserPatch') ? '"date"' : '"date-time"';
      expect({ where, name, schema: JSON.stringify(schema) }).toEqual({
        where,
        name,
        schema: expect.stringContaining(format),
      });
    }
  });

  it('types the content that clients send, although the service has a separate error for other types', () => {
    for (const body of ['SendMessageBody', 'EditMessageBody'])
      expect(resolve(openApi, `#/components/schemas/${body}/properties/content/$ref`)).toBe(
        '#/components/schemas/TextContent',
      );
  });

  it('describes the headers of all requests once, not as parameters of each operation', () => {
    const names = Object.values(resolve(openApi, '#/components/parameters') as Record<string, JsonObject>).map(
      (parameter) => parameter['name'],
    );
    expect(names).toEqual(['X-Signature', 'X-Timestamp', 'X-Device-Info', 'X-Device-ID', 'X-Version', 'X-Timezone']);
    const repeated = operations().filter(([, , { parameters = [] }]) =>
      (parameters as JsonObject[]).some((parameter) => '$ref' in parameter || names.includes(parameter['name'])),
    );
    expect(repeated).toEqual([]);
  });

  it('allows servers to add fields', () => {
    expect([...objectsIn(openApi)].filter(([node]) => node['additionalProperties'] === false)).toEqual([]);
  });
});

describe('asyncapi.json', () => {
  it('is valid AsyncAPI 3.0', async () => {
    const diagnostics = await new Parser().validate(JSON.stringify(asyncApi));
    // Severities: 0 error, 1 warning, 2 and 3 hints.
    expect(diagnostics.filter(({ severity }) => severity <= 1)).toEqual([]);
    expect(asyncApi['asyncapi']).toBe('3.0.0');
  });

  it.each(Object.keys(CLIENT_EVENTS))('receives %s', (name) => {
    expect(resolve(asyncApi, `#/operations/${name}`)).toMatchObject({ action: 'receive' });
    expect(resolve(asyncApi, `#/components/messages/${name}`)).toMatchObject({ name, payload: expect.anything() });
  });

  it.each(Object.keys(SERVER_EVENTS))('sends %s', (name) => {
    expect(resolve(asyncApi, `#/operations/${name}`)).toMatchObject({ action: 'send' });
    expect(resolve(asyncApi, `#/components/messages/${name}`)).toMatchObject({ name, payload: expect.anything() });
  });

  it('documents the responses to subscribe and send', () => {
    const replies = (name: string) =>
      (resolve(asyncApi, `#/operations/${name}/reply/messages`) as { $ref: string }[]).map(({ $ref }) =>
        $ref.split('/').at(-1),
      );
    expect(replies('workspace.subscribe')).toEqual(['workspace.subscribed']);
    expect(replies('message.send')).toEqual(['message.send.ack', 'message.send.error']);
  });

  it('marks the durable events', () => {
    const messages = resolve(asyncApi, '#/components/messages') as Record<string, JsonObject>;
    const durable = Object.keys(messages).filter((name) => messages[name]!['x-durable'] === true);
    expect(durable.toSorted()).toEqual([...DURABLE_EVENTS].toSorted());
  });

  it('has an example per event that its schema accepts', () => {
    const messages = resolve(asyncApi, '#/components/messages') as Record<
      string,
      { examples?: { payload: unknown }[] }
    >;
    const events: Record<string, { payload: z.ZodType }> = { ...CLIENT_EVENTS, ...SERVER_EVENTS };
    expect(Object.keys(messages).toSorted()).toEqual(Object.keys(events).toSorted());
    for (const [name, { payload }] of Object.entries(events)) {
      const examples = (messages[name]?.examples ?? []).map((example) => example.payload);
      expect({ name, examples: examples.length }).toEqual({ name, examples: 1 });
      // Equal: the example has no field that the schema does not know.
      expect({ name, parsed: payload.parse(examples[0]) }).toEqual({ name, parsed: examples[0] });
    }
  });

  it('names every property in snake_case, except credentials, which have the names of headers', () => {
    const headers: ReadonlySet<string> = new Set(CREDENTIAL_HEADERS);
    const odd = propertiesIn(resolve(asyncApi, '#/components') as JsonObject).filter(
      ([name]) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name),
    );
    expect(odd.map(([name]) => name).filter((name) => !headers.has(name))).toEqual([]);
  });
});

function resolve(document: JsonObject, ref: string): unknown {
  const keys = ref
    .slice(2)
    .split('/')
    .map((key) => key.replaceAll('~1', '/'));
  return keys.reduce<unknown>((node, key) => (node as JsonObject | undefined)?.[key], document);
}
