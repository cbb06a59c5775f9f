import { z } from 'zod';
import { AsyncApiBody, Health, ModelCatalogItem, OpenApiBody } from '../resources/core.js';
import { data } from '../resources/primitives.js';
import { defineRoute, ok, text } from './define.js';
import { conditionalHeaders, notModified } from './download.js';

export const coreRoutes = [
  defineRoute({
    operationId: 'getHealth',
    method: 'get',
    path: '/v1/health',
    auth: 'public',
    tag: 'core',
    summary: 'Health check',
    description:
      'Returns 200 also if the service cannot work; then `online` is false. The state is up to a second old.',
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
    description: 'This document, with the public URL of the installation as its server.',
    extension: true,
    headers: conditionalHeaders,
    responses: { ...ok(OpenApiBody, 'OpenAPI 3.1.'), ...notModified },
    example: {},
  }),
  defineRoute({
    operationId: 'getAsyncApi',
    method: 'get',
    path: '/v1/asyncapi.json',
    auth: 'public',
    tag: 'core',
    summary: 'Get the AsyncAPI document',
    description: 'It describes the socket: its credentials, and all events with examples.',
    extension: true,
    headers: conditionalHeaders,
    responses: { ...ok(AsyncApiBody, 'AsyncAPI 3.0.'), ...notModified },
    example: {},
  }),
  defineRoute({
    operationId: 'listModels',
    method: 'get',
    path: '/v1/models',
    auth: 'public',
    tag: 'core',
    summary: 'List the models that agents can use',
    description: 'The choices for `model` in the settings of an agent. They change with the configuration only.',
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
    params: { name: text('The file name at the end of an image URL, such as `agent-researcher.svg`.') },
    headers: conditionalHeaders,
    responses: {
      ...ok(z.string().meta({ format: 'binary', contentMediaType: 'image/svg+xml' }), 'The image.'),
      ...notModified,
    },
    errors: ['asset_not_found'],
    example: { params: { name: 'agent-researcher.svg' } },
  }),
] as const;
