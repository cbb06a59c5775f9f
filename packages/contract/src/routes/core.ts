import { z } from 'zod';
import { AsyncApiBody, Health, ModelCatalogItem, OpenApiBody } from '../resources/core.js';
import { data } from '../resources/primitives.js';
import { defineRoute, ok, text } from './define.js';

export const coreRoutes = [
  defineRoute({
    operationId: 'getHealth',
    method: 'get',
    path: '/v1/health',
    auth: 'public',
    tag: 'core',
    summary: 'Health check',
    responses: ok(data(Health)),
    example: { answer: { data: { online: true, version: '0.1.0' } } },
  }),
  defineRoute({
    operationId: 'getOpenApi',
    method: 'get',
    path: '/v1/openapi.json',
    auth: 'public',
    tag: 'core',
    summary: 'Get the OpenAPI document',
    extension: true,
    headers: z.object({
      'if-none-match': z.string().optional().meta({ description: "The ETag of the client's copy of the document." }),
    }),
    responses: {
      ...ok(OpenApiBody, 'OpenAPI 3.1.'),
      304: { description: "The client's copy is up to date.", schema: null },
    },
    example: {},
  }),
  defineRoute({
    operationId: 'getAsyncApi',
    method: 'get',
    path: '/v1/asyncapi.json',
    auth: 'public',
    tag: 'core',
    summary: 'Get the AsyncAPI document',
    extension: true,
    responses: ok(AsyncApiBody, 'AsyncAPI 3.0.'),
    example: {},
  }),
  defineRoute({
    operationId: 'listModels',
    method: 'get',
    path: '/v1/models',
    auth: 'public',
    tag: 'core',
    summary: 'List the models that agents can use',
    responses: ok(data(z.array(ModelCatalogItem))),
    example: {
      answer: {
        data: [{ id: 'flash', name: 'Flash', provider: 'demo', description: 'Fast, for everyday questions.' }],
      },
    },
  }),
  defineRoute({
    operationId: 'getAsset',
    method: 'get',
    path: '/v1/assets/{name}',
    auth: 'public',
    tag: 'core',
    summary: 'Get an avatar or icon of the service',
    description:
      'The URLs are in `avatar`, `avatar_url`, `icon_url` and `image_url`. Images change with releases only.',
    extension: true,
    params: { name: text },
    responses: ok(z.string().meta({ format: 'binary', contentMediaType: 'image/svg+xml' }), 'The image.'),
    errors: ['asset_not_found'],
    example: { params: { name: 'agent-researcher.svg' } },
  }),
] as const;
