import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { data } from '../resources/primitives.js';
import { Attachment } from '../resources/upload.js';
import { created, defineRoute, id, idempotencyKey } from './define.js';
import { CACHING, fileHeaders, fileResponses, linkSignature } from './download.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

export const uploadRoutes = [
  defineRoute({
    operationId: 'createUpload',
    method: 'post',
    path: '/v1/uploads',
    auth: 'user',
    scope: 'write',
    reach: 'any',
    tag: 'uploads',
    summary: 'Upload a file; its type is detected from the content',
    description: `Up to ${LIMITS.uploadBytes / 1024 ** 2} MiB. A file that no message refers to is deleted after a day. An upload without progress is ended.`,
    headers: idempotencyKey,
    multipart: z.object({
      file: z.string().meta({ format: 'binary', description: 'The bytes of the file, with its name as `filename`.' }),
    }),
    responses: created(data(Attachment)),
    errors: [
      'validation_failed',
      'idempotency_key_reused',
      'malformed_form',
      'unsupported_media_type',
      'upload_file_missing',
      'upload_too_large',
      'upload_quota_exceeded',
      'upload_limit_reached',
      'upload_stalled',
    ],
    example: { multipart: { file: 'tea, bread, marmalade\n' }, answer: { data: examples.attachment } },
  }),
  defineRoute({
    operationId: 'getUpload',
    method: 'get',
    path: '/v1/uploads/{id}',
    auth: 'public',
    tag: 'uploads',
    summary: 'Download a file with a signed link',
    description: CACHING,
    extension: true,
    params: { id: id('upload_not_found') },
    query: linkSignature,
    headers: fileHeaders,
    responses: fileResponses('The file.'),
    errors: ['upload_link_invalid', 'range_not_satisfiable'],
    example: { params: { id: EXAMPLE.uploadId }, query: { sig: EXAMPLE.linkSignature } },
  }),
] as const;
