import { z } from 'zod';
import { Attachment, Health, LegalStatus, ModelCatalogItem, OpenApiBody } from '../resources/core.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, id, ok } from './define.js';

/** spec: orchestrator §4.1 */
export const coreRoutes = [
  defineRoute({
    operationId: 'getHealth',
    method: 'get',
    path: '/v1/health',
    auth: 'public',
    tag: 'core',
    summary: 'Whether the service is online, and its version',
    spec: 'orchestrator §4.1',
    responses: ok(data(Health)),
  }),
  defineRoute({
    operationId: 'getOpenApi',
    method: 'get',
    path: '/v1/openapi.json',
    auth: 'public',
    tag: 'core',
    summary: 'This document',
    spec: 'extension',
    headers: z.object({
      'if-none-match': z.string().optional().meta({ description: 'The ETag of the document that the client has.' }),
    }),
    responses: {
      ...ok(OpenApiBody, 'OpenAPI 3.1.'),
      304: { description: 'The client has this document.', schema: null },
    },
  }),
  defineRoute({
    operationId: 'listModels',
    method: 'get',
    path: '/v1/models',
    auth: 'public',
    tag: 'core',
    summary: 'The models that agents can use',
    spec: 'orchestrator §4.1',
    responses: ok(data(z.array(ModelCatalogItem))),
  }),
  defineRoute({
    operationId: 'getLegal',
    method: 'get',
    path: '/v1/legal',
    auth: 'public',
    tag: 'core',
    summary: 'The legal documents; the acceptance flags are false here',
    spec: 'orchestrator §4.1',
    responses: ok(data(LegalStatus)),
  }),
  defineRoute({
    operationId: 'setPushToken',
    method: 'post',
    path: '/v1/push-token',
    auth: 'user',
    tag: 'core',
    summary: 'Stores the push-notification token of the device',
    spec: 'orchestrator §4.1',
    body: z.object({ push_token: z.string().min(1).max(4_096) }).meta({ id: 'PushTokenBody' }),
    responses: ok(z.strictObject({ success: z.boolean() }).meta({ id: 'PushTokenAnswer' })),
  }),
  defineRoute({
    operationId: 'createUpload',
    method: 'post',
    path: '/v1/uploads',
    auth: 'user',
    tag: 'uploads',
    summary: 'Uploads a file; the type is found from its content',
    spec: 'orchestrator §4.1',
    multipart: z.object({ file: z.string().meta({ format: 'binary' }) }),
    responses: created(data(Attachment)),
    errors: [
      'malformed_form',
      'unsupported_media_type',
      'upload_file_missing',
      'upload_too_large',
      'upload_quota_exceeded',
    ],
  }),
  defineRoute({
    operationId: 'getUpload',
    method: 'get',
    path: '/v1/uploads/{id}',
    auth: 'public',
    tag: 'uploads',
    summary: 'The file itself, by a signed link of 15 minutes',
    spec: 'extension',
    params: { id: id('upload_not_found') },
    query: z.object({ sig: z.string().max(512) }),
    headers: z.object({
      range: z.string().optional().meta({ description: 'One part of the file; anything else gives the whole file.' }),
      'if-range': z.string().optional().meta({ description: 'The ETag that the part has to be of.' }),
    }),
    responses: {
      200: { description: 'The file.', schema: z.string().meta({ format: 'binary' }) },
      206: { description: 'The part of the file that `Range` names.', schema: z.string().meta({ format: 'binary' }) },
    },
    errors: ['upload_link_invalid', 'range_not_satisfiable'],
  }),
] as const;
