import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { data } from '../resources/primitives.js';
import { WorkspaceImport } from '../resources/workspace-import.js';
import { accepted, defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

export const importRoutes = [
  defineRoute({
    operationId: 'createWorkspaceImport',
    method: 'post',
    path: '/v1/workspace-imports',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'workspaces',
    summary: 'Import a `.uswarm` file to a new workspace',
    description: `Up to ${LIMITS.importBytes / 1024 ** 3} GiB. The file is imported in the background, as a whole or not at all. Ask \`GET /v1/workspace-imports/{id}\` until it is \`done\`; clients also receive \`workspace.new\`. One at a time, and one per hour.`,
    extension: true,
    multipart: z.object({ file: z.string().meta({ format: 'binary', description: 'The bytes of the file.' }) }),
    responses: accepted(data(WorkspaceImport)),
    errors: [
      'malformed_form',
      'unsupported_media_type',
      'upload_file_missing',
      'upload_too_large',
      'upload_stalled',
      'workspace_limit_reached',
      'import_in_progress',
    ],
    example: { multipart: { file: 'the bytes of an exported workspace' }, answer: { data: examples.pendingImport } },
  }),
  defineRoute({
    operationId: 'getWorkspaceImport',
    method: 'get',
    path: '/v1/workspace-imports/{id}',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'workspaces',
    summary: 'Get the state of an import',
    description: `Kept for ${LIMITS.exportsKeptDays} days after its end.`,
    extension: true,
    params: { id: id('import_not_found') },
    responses: ok(data(WorkspaceImport)),
    example: { params: { id: EXAMPLE.importId }, answer: { data: examples.finishedImport } },
  }),
] as const;
