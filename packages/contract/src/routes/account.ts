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
    extension: true,
    responses: {
      204: {
        description:
          'No content. All tokens issued until now are revoked, all sockets are closed, and devices receive no ' +
          'notifications until they send their push token again. Tokens state their issue time in whole seconds: a ' +
          'token that is issued in the same second is also rejected with `token_revoked`; a token that is issued a ' +
          'second later is accepted.',
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
    body: z
      .object({ reason: z.string().max(200).optional(), description: z.string().max(4_000).optional() })
      .meta({ id: 'DeleteAccountBody' }),
    bodyOptional: true,
    responses: noContent,
    errors: ['user_not_found', 'user_deleted', 'reauthentication_required'],
    example: { body: { reason: { reason: 'not_useful', description: 'I have a notebook.' } } },
  }),
] as const;
