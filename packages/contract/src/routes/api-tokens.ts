import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { ApiToken, ApiTokenBody, NewApiToken } from '../resources/api-token.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, id, noContent, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

const apiToken: z.input<typeof ApiToken> = {
  id: EXAMPLE.apiTokenId,
  name: 'Nightly report',
  scopes: ['read', 'write'],
  workspace_ids: [EXAMPLE.workspaceId],
  created_at: examples.MORNING,
  expires_at: '2999-11-20T08:30:00.000Z',
  last_used_at: null,
};

export const apiTokenRoutes = [
  defineRoute({
    operationId: 'listApiTokens',
    method: 'get',
    path: '/v1/api-tokens',
    auth: 'user',
    scope: 'session',
    tag: 'account',
    summary: 'List the API tokens of the user, newest first',
    description: 'Includes expired tokens until they are deleted.',
    extension: true,
    responses: ok(data(z.array(ApiToken))),
    example: { answer: { data: [apiToken] } },
  }),
  defineRoute({
    operationId: 'createApiToken',
    method: 'post',
    path: '/v1/api-tokens',
    auth: 'user',
    scope: 'session',
    tag: 'account',
    summary: 'Create an API token for a program',
    description:
      'Programs send it where apps send an ID token, without `X-Signature`. Only this response contains the secret. A user can have ' +
      `${LIMITS.apiTokensPerUser} tokens. Tokens stay valid after a logout, also everywhere, until they expire or are revoked.`,
    extension: true,
    body: ApiTokenBody,
    responses: created(data(NewApiToken)),
    errors: ['api_token_limit_reached', 'workspace_not_found'],
    example: {
      body: {
        limited: { name: 'Nightly report', scopes: ['read', 'write'], workspace_ids: [EXAMPLE.workspaceId] },
        readsAll: { name: 'Backup', scopes: ['read'] },
      },
      answer: { data: { ...apiToken, token: 'uswarm_pat_4rVt0mQ2nXcK8sJyB7wHfL5dZp1gAeU3oTq6vRi9NxE2kCb' } },
    },
  }),
  defineRoute({
    operationId: 'revokeApiToken',
    method: 'delete',
    path: '/v1/api-tokens/{id}',
    auth: 'user',
    scope: 'session',
    tag: 'account',
    summary: 'Revoke an API token, and remove it from the list',
    description: 'Programs are refused from now on, and their sockets and streams are closed.',
    extension: true,
    params: { id: id('api_token_not_found') },
    responses: noContent,
    example: { params: { id: EXAMPLE.apiTokenId } },
  }),
] as const;
