import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** A request that does not match the API description, with the HTTP status that Google answers. */
export class BadRequest extends Error {
  override name = 'BadRequest';
  readonly status: number;
  /** Google's code, for example `invalidParameter`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

const Parameter = z.object({
  location: z.enum(['path', 'query']),
  type: z.string(),
  required: z.boolean().default(false),
  repeated: z.boolean().default(false),
  enum: z.array(z.string()).optional(),
  minimum: z.coerce.number().optional(),
  maximum: z.coerce.number().optional(),
});
type Parameter = z.output<typeof Parameter>;

interface Schema {
  type?: string | undefined;
  enum?: string[] | undefined;
  $ref?: string | undefined;
  items?: Schema | undefined;
  properties?: Record<string, Schema> | undefined;
  additionalProperties?: Schema | undefined;
}
const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    enum: z.array(z.string()).optional(),
    $ref: z.string().optional(),
    items: Schema.optional(),
    properties: z.record(z.string(), Schema).optional(),
    additionalProperties: Schema.optional(),
  }),
);

const Description = z.object({
  servicePath: z.string(),
  methods: z.record(
    z.string(),
    z.object({
      httpMethod: z.string(),
      path: z.string(),
      parameters: z.record(z.string(), Parameter),
      request: z.string().optional(),
    }),
  ),
  schemas: z.record(z.string(), Schema),
});

/** A request that matches a described method. */
export interface DescribedRequest {
  /** For example `calendar.events.insert`. */
  method: string;
  path: Record<string, string>;
  query: URLSearchParams;
  body: unknown;
}

export interface ApiDescription {
  /** @returns undefined if no method has this path. @throws BadRequest */
  match(httpMethod: string, url: URL, body: unknown): DescribedRequest | undefined;
}

/** Query parameters that all methods have. */
const COMMON = new Set(['alt', 'fields', 'key', 'prettyPrint', 'quotaUser']);

function checkParameter(name: string, value: string, parameter: Parameter): void {
  const bad = (): never => {
    throw new BadRequest(400, 'invalidParameter', `Invalid value for parameter ${name}: ${value}`);
  };
  if (parameter.type === 'boolean' && value !== 'true' && value !== 'false') bad();
  if (parameter.type === 'integer') {
    const number = Number(value);
    if (!Number.isInteger(number)) bad();
    if (number < (parameter.minimum ?? number) || number > (parameter.maximum ?? number)) bad();
  }
  if (parameter.enum !== undefined && !parameter.enum.includes(value)) bad();
}

/** Reads a reduced discovery document from the folder `google`. */
export function readDescription(file: string): ApiDescription {
  const { servicePath, methods, schemas } = Description.parse(
    JSON.parse(readFileSync(new URL(`../../google/${file}`, import.meta.url), 'utf8')),
  );
  const matchers = Object.entries(methods).map(([id, method]) => ({
    id,
    method,
    pattern: new RegExp(
      `^/${`${servicePath}${method.path}`.replaceAll(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>[^/]+)`)}$`,
    ),
  }));

  function checkBody(value: unknown, schema: Schema, at: string): void {
    const bad = (message: string): never => {
      throw new BadRequest(400, 'badRequest', `Invalid JSON payload received. ${at}: ${message}`);
    };
    if (schema.$ref !== undefined) {
      const named = schemas[schema.$ref];
      if (named !== undefined) checkBody(value, named, at);
      return;
    }
    const types: Record<string, string> = { integer: 'number', array: 'object', any: typeof value };
    const type = schema.type ?? 'any';
    if (typeof value !== (types[type] ?? type) || Array.isArray(value) !== (type === 'array')) bad(`must be ${type}`);
    if (schema.enum !== undefined && !schema.enum.includes(String(value)))
      bad(`must be one of ${schema.enum.join(', ')}`);
    if (Array.isArray(value)) {
      for (const item of value) checkBody(item, schema.items ?? {}, `${at}[]`);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const { properties, additionalProperties } = schema;
    if (additionalProperties !== undefined)
      for (const [name, entry] of Object.entries(value)) checkBody(entry, additionalProperties, `${at}.${name}`);
    if (properties === undefined) return;
    for (const [name, entry] of Object.entries(value)) {
      const property = properties[name];
      if (property === undefined) bad(`Unknown name "${name}"`);
      else if (entry !== null) checkBody(entry, property, `${at}.${name}`);
    }
  }

  return {
    match(httpMethod, url, body) {
      for (const { id, method, pattern } of matchers) {
        const groups = httpMethod === method.httpMethod ? pattern.exec(url.pathname)?.groups : undefined;
        if (groups === undefined) continue;
        for (const [name, value] of url.searchParams) {
          const parameter = method.parameters[name];
          if (parameter?.location === 'query') checkParameter(name, value, parameter);
          else if (!COMMON.has(name)) throw new BadRequest(400, 'badRequest', `Unknown name "${name}"`);
        }
        if (method.request !== undefined) checkBody(body, { $ref: method.request }, method.request);
        const path = Object.fromEntries(
          Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]),
        );
        return { method: id, path, query: url.searchParams, body };
      }
      return undefined;
    },
  };
}
