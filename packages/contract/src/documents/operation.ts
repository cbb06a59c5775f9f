import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { Id } from '../resources/primitives.js';
import type { Example } from '../routes/examples.js';
import { type PathParameter, POSITION_HEADER, type RouteDefinition } from '../routes/index.js';
import { errorGroups, errorResponse, sharedName } from './error-responses.js';
import { type DocumentOptions, securityOf } from './security.js';

const POSITION_REFERENCE = { $ref: '#/components/headers/WorkspacePosition' };

/** Converts a route to an OpenAPI operation. */
export function operationOf(route: RouteDefinition, options: DocumentOptions): ZodOpenApiOperationObject {
  const { example } = route;
  const body = requestBodyOf(route, example);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: securityOf(route, options),
    requestParams: {
      ...(route.params === undefined ? {} : { path: pathParameters(route.params, example) }),
      ...(route.query === undefined ? {} : { query: withExamples(route.query, example.query) }),
      ...(route.headers === undefined ? {} : { header: route.headers }),
    },
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...successResponses(route, example), ...errorResponses(route) },
    ...(route.extension === true ? { 'x-extension': true } : {}),
    ...(route.scope === undefined ? {} : { 'x-token-scope': route.scope }),
  };
}

function pathParameters(params: NonNullable<RouteDefinition['params']>, example: Example): z.ZodObject {
  const schemas = Object.entries(params).map(([name, parameter]) => [name, pathParameter(parameter)]);
  return withExamples(z.object(Object.fromEntries(schemas)), example.params);
}

function pathParameter(parameter: PathParameter): z.ZodType {
  if (parameter.kind === 'text') return z.string().min(1).meta({ description: parameter.description });
  const resource = parameter.notFound.replace(/_not_found$/, '').replaceAll('_', ' ');
  return Id.meta({
    description: `Which ${resource}: a lower-case UUID. An unknown one, or one of another user, returns \`${parameter.notFound}\`.`,
  });
}

/** Adds the values from the operation's example to its parameters. */
function withExamples(parameters: z.ZodObject, values: Record<string, unknown> = {}): z.ZodObject {
  return z.object(
    Object.fromEntries(
      Object.entries(parameters.shape).map(([name, schema]) => [name, withExample(schema as z.ZodType, values[name])]),
    ),
  );
}

function withExample(schema: z.ZodType, example: unknown): z.ZodType {
  return example === undefined ? schema : schema.meta({ ...schema.meta(), param: { example } });
}

function requestBodyOf(route: RouteDefinition, example: Example): ZodOpenApiOperationObject['requestBody'] {
  if (route.multipart !== undefined) {
    const content = { schema: route.multipart, example: example.multipart };
    return { required: true, content: { 'multipart/form-data': content } };
  }
  if (route.body === undefined) return undefined;
  const examples = Object.entries(example.body ?? {}).map(([name, value]) => [name, { value }]);
  return {
    required: route.bodyOptional !== true,
    content: { 'application/json': { schema: route.body, examples: Object.fromEntries(examples) } },
  };
}

function successResponses(route: RouteDefinition, { answer }: Example): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { description, schema }]) => [
      status,
      {
        description,
        ...(route.position === undefined ? {} : { headers: { [POSITION_HEADER]: POSITION_REFERENCE } }),
        ...(schema === null ? {} : { content: { [mediaTypeOf(schema)]: contentOf(schema, answer) } }),
      },
    ]),
  );
}

function contentOf(schema: z.ZodType, answer: unknown): { schema: z.ZodType; example?: unknown } {
  return answer === undefined ? { schema } : { schema, example: answer };
}

/** Only some routes know a file's media type in advance. */
function mediaTypeOf(schema: z.ZodType): string {
  const { format, contentMediaType } = schema.meta() ?? {};
  if (typeof contentMediaType === 'string') return contentMediaType;
  return format === 'binary' ? '*/*' : 'application/json';
}

function errorResponses(route: RouteDefinition): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    errorGroups(route).map((group) => [
      String(group.status),
      sharedName(group) === undefined ? errorResponse(group) : { $ref: `#/components/responses/${sharedName(group)}` },
    ]),
  );
}
