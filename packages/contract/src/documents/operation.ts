import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { Id } from '../resources/primitives.js';
import type { RouteDefinition } from '../routes/index.js';
import { errorGroups, errorResponse, sharedName } from './error-responses.js';
import { headersOf, securityOf } from './security.js';

/** One route as an OpenAPI operation. */
export function operationOf(route: RouteDefinition): ZodOpenApiOperationObject {
  const body = requestBodyOf(route);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    security: securityOf(route.auth),
    requestParams: {
      ...(route.params === undefined ? {} : { path: pathParameters(route.params) }),
      ...(route.query === undefined ? {} : { query: route.query }),
    },
    parameters: headersOf(route.auth),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...successResponses(route), ...errorResponses(route) },
    ...(route.spec === 'extension' ? { 'x-extension': true } : {}),
  };
}

function pathParameters(params: NonNullable<RouteDefinition['params']>): z.ZodObject {
  return z.object(
    Object.fromEntries(
      Object.entries(params).map(([name, { kind }]) => [name, kind === 'id' ? Id : z.string().min(1)]),
    ),
  );
}

function requestBodyOf(route: RouteDefinition): ZodOpenApiOperationObject['requestBody'] {
  if (route.multipart !== undefined) {
    return { required: true, content: { 'multipart/form-data': { schema: route.multipart } } };
  }
  if (route.body === undefined) return undefined;
  return {
    required: route.bodyOptional !== true,
    content: { 'application/json': { schema: route.body } },
  };
}

function successResponses(route: RouteDefinition): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { description, schema }]) => [
      status,
      schema === null ? { description } : { description, content: { [mediaTypeOf(schema)]: { schema } } },
    ]),
  );
}

function mediaTypeOf(schema: z.ZodType): string {
  return schema.meta()?.['format'] === 'binary' ? 'application/octet-stream' : 'application/json';
}

function errorResponses(route: RouteDefinition): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    errorGroups(route).map((group) => [
      String(group.status),
      sharedName(group) === undefined ? errorResponse(group) : { $ref: `#/components/responses/${sharedName(group)}` },
    ]),
  );
}
