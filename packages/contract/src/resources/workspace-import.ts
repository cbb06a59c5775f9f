import { z } from 'zod';
import { Timestamp } from './primitives.js';

const IMPORT_STATUSES = ['pending', 'running', 'done', 'failed'] as const;

const IMPORT_PROBLEMS = {
  not_a_swarm_file: 'The file is not a `.uswarm` file.',
  version_unsupported: 'The file has a version of the format that this installation does not know.',
  members_invalid: 'Members are missing, unknown or duplicate.',
  content_changed: 'A member is not what was signed.',
  signature_invalid: 'The signature of the file or of a receipt in it is not valid.',
  rows_invalid: 'A row in the file is not valid.',
  too_large: 'A part of the file is too large, or has too many rows.',
  limit_reached: 'The workspace would exceed a limit of this installation or of the user.',
  internal_error: 'Something went wrong; try again.',
} as const;
export type ImportProblem = keyof typeof IMPORT_PROBLEMS;

const ImportProblem = z.enum(Object.keys(IMPORT_PROBLEMS) as [ImportProblem, ...ImportProblem[]]).meta({
  id: 'ImportProblem',
  description: `Why an import failed. More codes may be added. ${Object.entries(IMPORT_PROBLEMS)
    .map(([code, text]) => `\`${code}\`: ${text}`)
    .join(' ')}`,
});

export const WorkspaceImport = z
  .strictObject({
    id: z.uuid().meta({ description: 'Identifies the import.' }),
    status: z.enum(IMPORT_STATUSES).meta({ description: '`pending` and `running` need time; `done` has a workspace.' }),
    problem: ImportProblem.nullable().meta({ description: 'Why it failed; otherwise null.' }),
    workspace_id: z.uuid().nullable().meta({ description: 'The new workspace; null until it is done.' }),
    created_at: Timestamp.meta({ description: 'When the file was received.' }),
  })
  .meta({ id: 'WorkspaceImport', description: 'An import of a `.uswarm` file to a new workspace.' });
export type WorkspaceImport = z.output<typeof WorkspaceImport>;
