import { z } from 'zod';
import { Export } from '../resources/export.js';
import { LIMITS } from '../limits.js';
import { data } from '../resources/primitives.js';
import { accepted, defineRoute, id, ok } from './define.js';
import { CACHING, fileHeaders, fileResponses, linkSignature } from './download.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

export const exportRoutes = [
  defineRoute({
    operationId: 'createExport',
    method: 'post',
    path: '/v1/users/export',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'account',
    summary: 'Start an export of all data of the user, or return the unfinished one',
    description: `The archive is built in the background, and kept for ${LIMITS.exportsKeptDays} days. Ask \`GET /v1/users/exports/{id}\` until it is \`ready\`. One export per hour.`,
    extension: true,
    responses: accepted(data(Export)),
    errors: ['export_limit_reached'],
    example: { answer: { data: examples.pendingExport } },
  }),
  defineRoute({
    operationId: 'listExports',
    method: 'get',
    path: '/v1/users/exports',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'account',
    summary: 'List exports, newest first',
    description: 'Without archives that have expired.',
    extension: true,
    responses: ok(data(z.array(Export))),
    example: { answer: { data: [examples.readyExport] } },
  }),
  defineRoute({
    operationId: 'getExport',
    method: 'get',
    path: '/v1/users/exports/{id}',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'account',
    summary: 'Get the state of an export, with a download link when it is ready',
    description: 'Ask every few seconds while it is `pending` or `running`.',
    extension: true,
    params: { id: id('export_not_found') },
    responses: ok(data(Export)),
    example: { params: { id: EXAMPLE.exportId }, answer: { data: examples.readyExport } },
  }),
  defineRoute({
    operationId: 'getExportArchive',
    method: 'get',
    path: '/v1/users/exports/{id}/archive',
    auth: 'public',
    tag: 'account',
    summary: 'Download an export archive with a signed link',
    description: CACHING,
    extension: true,
    params: { id: id('export_not_found') },
    query: linkSignature,
    headers: fileHeaders,
    responses: fileResponses('The archive, a ZIP file.'),
    errors: ['upload_link_invalid', 'range_not_satisfiable'],
    example: { params: { id: EXAMPLE.exportId }, query: { sig: EXAMPLE.exportSignature } },
  }),
] as const;
