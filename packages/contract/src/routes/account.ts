import { z } from 'zod';
import { LegalStatus } from '../resources/core.js';
import { data } from '../resources/primitives.js';
import { Export, UserPatch, UserProfile, UserUsageSummary } from '../resources/user.js';
import { accepted, defineRoute, id, noContent, ok } from './define.js';

/** spec: orchestrator §4.2 */
export const accountRoutes = [
  defineRoute({
    operationId: 'signIn',
    method: 'post',
    path: '/v1/auth/sign-in',
    auth: 'identity',
    tag: 'account',
    summary: 'Sign in an existing user',
    spec: 'orchestrator §4.2',
    responses: noContent,
    errors: ['user_not_found', 'user_deleted'],
  }),
  defineRoute({
    operationId: 'signUp',
    method: 'post',
    path: '/v1/auth/sign-up',
    auth: 'identity',
    tag: 'account',
    summary: 'Sign up: create the user with a first workspace (idempotent)',
    spec: 'orchestrator §4.2',
    responses: noContent,
    errors: ['sign_up_limit_reached'],
  }),
  defineRoute({
    operationId: 'logout',
    method: 'post',
    path: '/v1/auth/logout',
    auth: 'identity',
    tag: 'account',
    summary: 'Log out (revoke the token)',
    spec: 'orchestrator §4.2',
    responses: noContent,
    errors: ['user_not_found', 'user_deleted'],
  }),
  defineRoute({
    operationId: 'logoutEverywhere',
    method: 'post',
    path: '/v1/auth/logout-all',
    auth: 'identity',
    tag: 'account',
    summary: 'Log out everywhere (revoke all tokens of the user)',
    spec: 'extension',
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
  }),
  defineRoute({
    operationId: 'deleteAccount',
    method: 'delete',
    path: '/v1/auth/delete',
    auth: 'identity',
    tag: 'account',
    summary: 'Delete the account permanently',
    spec: 'orchestrator §4.2',
    body: z
      .object({ reason: z.string().max(200).optional(), description: z.string().max(4_000).optional() })
      .meta({ id: 'DeleteAccountBody' }),
    bodyOptional: true,
    responses: noContent,
    errors: ['user_not_found', 'user_deleted', 'reauthentication_required'],
  }),
  defineRoute({
    operationId: 'getProfile',
    method: 'get',
    path: '/v1/users/profile',
    auth: 'user',
    tag: 'account',
    summary: 'Get the profile',
    spec: 'orchestrator §4.2',
    responses: ok(data(UserProfile)),
  }),
  defineRoute({
    operationId: 'updateUser',
    method: 'patch',
    path: '/v1/users',
    auth: 'user',
    tag: 'account',
    summary: 'Update the profile',
    spec: 'orchestrator §4.2',
    body: UserPatch,
    responses: noContent,
  }),
  defineRoute({
    operationId: 'getUserLegal',
    method: 'get',
    path: '/v1/users/legal',
    auth: 'user',
    tag: 'account',
    summary: 'Get the legal documents with the acceptance of the user',
    spec: 'orchestrator §4.2',
    responses: ok(data(LegalStatus)),
  }),
  defineRoute({
    operationId: 'acceptLegal',
    method: 'post',
    path: '/v1/users/legal/accept',
    auth: 'user',
    tag: 'account',
    summary: 'Accept versions of the legal documents',
    spec: 'orchestrator §4.2',
    body: z
      .object({ terms_of_service_version: z.string().max(100), privacy_policy_version: z.string().max(100) })
      .partial()
      .meta({ id: 'AcceptLegalBody' }),
    responses: noContent,
    errors: ['legal_version_unknown'],
  }),
  defineRoute({
    operationId: 'getUsageSummary',
    method: 'get',
    path: '/v1/users/usage/summary',
    auth: 'user',
    tag: 'account',
    summary: 'Get the current-month usage of the user',
    spec: 'orchestrator §4.2',
    responses: ok(data(UserUsageSummary)),
  }),
  defineRoute({
    operationId: 'createExport',
    method: 'post',
    path: '/v1/users/export',
    auth: 'user',
    tag: 'account',
    summary: 'Start an export of all data of the user, or return the unfinished one',
    spec: 'extension',
    responses: accepted(data(Export)),
    errors: ['export_limit_reached'],
  }),
  defineRoute({
    operationId: 'listExports',
    method: 'get',
    path: '/v1/users/exports',
    auth: 'user',
    tag: 'account',
    summary: 'List exports, newest first',
    spec: 'extension',
    responses: ok(data(z.array(Export))),
  }),
  defineRoute({
    operationId: 'getExport',
    method: 'get',
    path: '/v1/users/exports/{id}',
    auth: 'user',
    tag: 'account',
    summary: 'Get the state of an export, with a download link when it is ready',
    spec: 'extension',
    params: { id: id('export_not_found') },
    responses: ok(data(Export)),
  }),
  defineRoute({
    operationId: 'getExportArchive',
    method: 'get',
    path: '/v1/users/exports/{id}/archive',
    auth: 'public',
    tag: 'account',
    summary: 'Download an export archive with a signed link that is valid for 15 minutes',
    spec: 'extension',
    params: { id: id('export_not_found') },
    query: z.object({ sig: z.string().max(512) }),
    headers: z.object({
      range: z
        .string()
        .optional()
        .meta({ description: 'A single byte range; any other value returns the whole file.' }),
      'if-range': z.string().optional().meta({ description: 'The ETag that the range belongs to.' }),
    }),
    responses: {
      200: { description: 'The archive, a ZIP file.', schema: z.string().meta({ format: 'binary' }) },
      206: { description: 'The requested range of the file.', schema: z.string().meta({ format: 'binary' }) },
    },
    errors: ['upload_link_invalid', 'range_not_satisfiable'],
  }),
] as const;
