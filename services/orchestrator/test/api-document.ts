import { checkResponse } from '@uswarm/contract/checks';
import { request } from 'undici';
import type { ApiClient, Method } from './api-client.js';
import { formOf } from './uploads.js';

// Reads operations and examples from the served OpenAPI document, as a generated client does.

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  example?: unknown;
}

interface Content {
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

interface RawOperation {
  operationId: string;
  security: Record<string, unknown>[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

export interface Operation {
  operationId: string;
  method: Method;
  /** Path template with `{name}` for parameters. */
  path: string;
  isPublic: boolean;
  parameters: Parameter[];
  /** Request bodies by example name; one entry without a body if the operation has none. */
  bodies: { name: string; mediaType?: string; value?: unknown }[];
  successes: number[];
  /** A success response's example, if documented. */
  answer: unknown;
}

export interface ApiDocument {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, RawOperation>>;
  components: { headers: Record<string, { example?: string }> };
}

export async function readDocument(url: string): Promise<ApiDocument> {
  const { statusCode, body } = await request(`${url}/v1/openapi.json`);
  if (statusCode !== 200) throw new Error(`GET /v1/openapi.json returned ${statusCode}`);
  return (await body.json()) as ApiDocument;
}

export function operationsOf({ paths }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, raw]) => operationOf(path, method, raw)),
  );
}

function operationOf(path: string, method: string, raw: RawOperation): Operation {
  const successes = Object.keys(raw.responses).filter((status) => status < '400');
  const answers = successes.flatMap((status) => Object.values(raw.responses[status]?.content ?? {}));
  return {
    operationId: raw.operationId,
    method: method.toUpperCase() as Method,
    path,
    isPublic: raw.security.length === 0,
    parameters: (raw.parameters ?? []).filter((parameter) => 'name' in parameter),
    bodies: bodiesOf(raw),
    successes: successes.map(Number),
    answer: answers.find(({ example }) => example !== undefined)?.example,
  };
}

function bodiesOf({ requestBody }: RawOperation): Operation['bodies'] {
  if (requestBody === undefined) return [{ name: 'no body' }];
  return Object.entries(requestBody.content).flatMap(([mediaType, { example, examples = {} }]) => [
    ...(example === undefined ? [] : [{ name: 'example', mediaType, value: example }]),
    ...Object.entries(examples).map(([name, { value }]) => ({ name, mediaType, value })),
  ]);
}

/** A user's real values by the placeholder that the examples use. */
export type Values = Readonly<Record<string, string>>;

function filledIn<Value>(value: Value, values: Values): Value {
  let text = JSON.stringify(value);
  for (const [example, real] of Object.entries(values)) text = text.replaceAll(example, real);
  return JSON.parse(text) as Value;
}

/** Fills path and query with the parameters' examples. @throws Error if a path parameter has no example */
function pathOf({ operationId, path, parameters }: Operation, values: Values): string {
  const known = filledIn(parameters, values);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = known.find((parameter) => parameter.in === 'path' && parameter.name === name)?.example;
    if (typeof example !== 'string') throw new Error(`${operationId} has no example of ${name}`);
    return encodeURIComponent(example);
  });
  const query = known.filter((parameter) => parameter.in === 'query' && parameter.example !== undefined);
  const search = new URLSearchParams(Object.fromEntries(query.map(({ name, example }) => [name, String(example)])));
  return query.length === 0 ? filled : `${filled}?${search}`;
}

export interface SeenAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Parsed if it is JSON. */
  body: unknown;
}

export interface ExampleCall {
  url: string;
  client: Pick<ApiClient, 'headers'>;
  operation: Operation;
  values: Values;
  body?: Operation['bodies'][number];
}

/** Checks the response against the contract. */
export async function sendExample({ url, client, operation, values, body }: ExampleCall): Promise<SeenAnswer> {
  const { method } = operation;
  const path = pathOf(operation, values);
  const payload = await payloadOf(filledIn(body ?? operation.bodies[0] ?? { name: '' }, values));
  const answer = await request(`${url}${path}`, {
    method,
    headers: { ...client.headers, ...payload.headers },
    ...(payload.body === undefined ? {} : { body: payload.body }),
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  const seen = isJson
    ? (JSON.parse(bytes.toString()) as unknown)
    : bytes.length === 0
      ? undefined
      : new Uint8Array(bytes);
  checkResponse({ method, path, status: answer.statusCode, body: seen });
  return { status: answer.statusCode, headers: answer.headers, body: seen };
}

async function payloadOf({ mediaType, value }: Operation['bodies'][number]) {
  if (mediaType === undefined) return { headers: {} };
  if (mediaType === 'multipart/form-data') {
    const { file } = value as { file: string };
    return formOf({ content: file, name: 'groceries.txt', type: 'text/plain' });
  }
  return { headers: { 'content-type': mediaType }, body: JSON.stringify(value) };
}
