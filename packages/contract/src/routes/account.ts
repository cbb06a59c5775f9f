import { z } from 'zod';
import { defineRoute, noContent } from './define.js';

export const accountRoutes = [
  defineRoute({
    operationId: 'signIn',
    method: 'post',
    path: '/v1/auth/sign-in',
    auth: 'identity',
    tag: 'account',
    summary: 'Sign in an existing user',
    description:
      'Checks the token and that the account exists. Sessions are not stored, so other routes accept the token also without this call.',
    responses: noContent,
    errors: ['user_not_found', 'user_deleted'],
    example: {},
  }),
  defineRoute({
    operationId: 'signUp',
    method: 'post',
    path: '/v1/auth/sign-up',
    auth: 'identity',
    tag: 'account',
    summary: 'Sign up: create the user with a first workspace (idempotent)',
    description:
      'Takes names and e-mail address from the token. For a user who exists, nothing changes. After a deletion, the same identity can ' +
      'sign up twice a day.',
    responses: noContent,
    errors: ['sign_up_limit_reached'],
    example: {},
  }),
  defineRoute({
    operationId: 'logout',
    method: 'post',
    path: '/v1/auth/logout',
    auth: 'identity',
    tag: 'account',
    summary: 'Log out (revoke the token)',
    description:
      'Revokes the token of this request and closes the sockets that use it; other tokens of the user stay valid.',
    responses: noContent,
    errors: ['user_not_found', 'user_deleted'],
    example: {},
  }),
  defineRoute({
    operationId: 'logoutEverywhere',
    method: 'post',
    path: '/v1/auth/logout-all',
    auth: 'identity',
    tag: 'account',
    summary: 'Log out everywhere (revoke all tokens of the user)',
    description:
      'All tokens issued until now are revoked, all sockets are closed, and devices receive no ' +
      'notifications until they send their push token again. Tokens state their issue time in whole seconds: a ' +
      'token that is issued in the same second is also rejected with `token_revoked`; a token that is issued a ' +
      'second later is accepted.',
    extension: true,
    responses: {
      204: {
        description: 'No content: the tokens are revoked.',
        schema: null,
      },
    },
    errors: ['user_not_found', 'user_deleted'],
    example: {},
  }),
  defineRoute({
    operationId: 'deleteAccount',
    method: 'delete',
    path: '/v1/auth/delete',
    auth: 'identity',
    tag: 'account',
    summary: 'Delete the account permanently',
    description:
      'Deletes all data of the user in the background, closes all sockets, and rejects all tokens immediately. It cannot be undone. The ' +
      'operator can require a recent sign-in (`reauthentication_required`).',
    body: z
      .object({
        reason: z
          .string()
          .max(200)
          .optional()
          .meta({ description: 'A choice of the app, such as `not_useful`; up to 200 characters.' }),
        description: z
          .string()
          .max(4_000)
          .optional()
          .meta({ description: 'Words of the user, up to 4,000 characters.' }),
      })
      .meta({ id: 'DeleteAccountBody', description: 'Why the user leaves. It is kept without the identity.' }),
    bodyOptional: true,
    responses: noContent,
    errors: ['user_not_found', 'user_deleted', 'reauthentication_required'],
    example: { body: { reason: { reason: 'not_useful', description: 'I have a notebook.' } } },
  }),
] as const;
