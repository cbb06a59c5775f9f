import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { Id, STRICT, Timestamp } from './primitives.js';

export const TokenScope = z.enum(['read', 'write']).meta({
  id: 'TokenScope',
  description: '`read`: GET requests and events. `write`: everything else as well, such as sending messages.',
});
export type TokenScope = z.output<typeof TokenScope>;

const name = z.string().min(1).max(LIMITS.apiTokenName);
const workspaceIds = z.array(Id).min(1).max(LIMITS.apiTokenWorkspaces);

export const ApiTokenBody = z
  .strictObject({
    name: name.meta({ description: `What the token is for; up to ${LIMITS.apiTokenName} characters.` }),
    scopes: z.array(TokenScope).min(1).max(10).meta({ description: 'What the token permits.' }),
    workspace_ids: workspaceIds.optional().meta({
      description: `Limits the token to these workspaces; up to ${LIMITS.apiTokenWorkspaces}. Default: all workspaces, also later ones.`,
    }),
    expires_at: Timestamp.optional().meta({
      description: 'When the token expires. The installation sets the default and the latest time.',
    }),
  })
  .meta({ id: 'ApiTokenBody', description: `A token to create. ${STRICT}` });
export type ApiTokenBody = z.output<typeof ApiTokenBody>;

export const ApiToken = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the token in the list, and when it is revoked; it is not secret.' }),
    name: z.string().meta({ description: 'Chosen by the user, such as the program that sends the token.' }),
    scopes: z.array(TokenScope).meta({ description: 'What the token permits.' }),
    workspace_ids: z
      .array(Id)
      .nullable()
      .meta({ description: 'The only workspaces that the token reaches; null if it reaches all.' }),
    created_at: Timestamp.meta({ description: 'When the token was created.' }),
    expires_at: Timestamp.meta({ description: 'When the token expires. Expired tokens stay in the list.' }),
    last_used_at: Timestamp.nullable().meta({
      description: 'When the token was last used, to within ten minutes; null if it was never used.',
    }),
  })
  .meta({ id: 'ApiToken', description: 'A token for programs, without its secret.' });
export type ApiToken = z.output<typeof ApiToken>;

export const NewApiToken = ApiToken.extend({
  token: z.string().meta({
    description: 'The secret that programs send. No other response contains it, so keep it now.',
  }),
}).meta({ id: 'NewApiToken', description: 'A token that was created, with its secret.' });
export type NewApiToken = z.output<typeof NewApiToken>;
