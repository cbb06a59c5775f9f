import { z } from 'zod';
import { Artifact, ArtifactPage } from '../resources/artifact.js';
import { data } from '../resources/primitives.js';
import { defineRoute, id, noContent, ok } from './define.js';
import { conditionalHeaders, notModified } from './download.js';
import * as examples from './examples.js';
import { optionalPageQuery } from './pages.js';

const workspace = { workspaceId: id('workspace_not_found') };
const version = z.coerce
  .number()
  .int()
  .positive()
  .max(2 ** 31 - 1)
  .optional()
  .meta({ description: 'Which version to return; by default the latest.' });
const artifact = { ...workspace, id: id('artifact_not_found') };

export const artifactRoutes = [
  defineRoute({
    operationId: 'listArtifacts',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/artifacts',
    auth: 'user',
    scope: 'read',
    tag: 'artifacts',
    summary: 'List artifacts, last changed first',
    description: 'Pages are listed forward only: `prev_scroll_id` is always null.',
    extension: true,
    params: workspace,
    query: optionalPageQuery,
    responses: ok(ArtifactPage),
    errors: ['cursor_invalid'],
    example: {
      params: examples.inWorkspace,
      query: { limit: 20 },
      answer: { data: [examples.artifactSummary], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'getArtifact',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/artifacts/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'artifacts',
    summary: 'Get an artifact with the content of its latest or another version',
    description: 'Also lists all versions, of which the response has one with its content.',
    extension: true,
    params: artifact,
    query: z.object({ version }),
    responses: ok(data(Artifact)),
    example: { params: examples.inArtifact, query: { version: 2 }, answer: { data: examples.artifact } },
  }),
  defineRoute({
    operationId: 'getArtifactFile',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/artifacts/{id}/file',
    auth: 'user',
    scope: 'read',
    tag: 'artifacts',
    summary: 'Download an artifact as a Word or PDF document',
    description:
      'Written from the content of the version as Markdown. If it is too large, the code is `upload_too_large`; if the format cannot ' +
      'have it, for example a PDF in a script without a font, `validation_failed` with the reason in `extra.fields`.',
    extension: true,
    params: artifact,
    query: z.object({
      format: z.enum(['docx', 'pdf']).meta({ description: 'The type of the document.' }),
      version,
    }),
    headers: conditionalHeaders,
    responses: {
      200: { description: 'The document, to be saved.', schema: z.string().meta({ format: 'binary' }) },
      ...notModified,
    },
    errors: ['upload_too_large'],
    example: { params: examples.inArtifact, query: { format: 'pdf' } },
  }),
  defineRoute({
    operationId: 'deleteArtifact',
    method: 'delete',
    path: '/v1/workspaces/{workspaceId}/artifacts/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'artifacts',
    summary: 'Delete an artifact permanently, with all versions; messages about it remain',
    description: 'Agents can no longer read it. Opening it from a message then returns `artifact_not_found`.',
    extension: true,
    params: artifact,
    responses: noContent,
    example: { params: examples.inArtifact },
  }),
] as const;
