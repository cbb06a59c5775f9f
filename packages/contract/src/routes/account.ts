import { z } from 'zod';
import { LegalStatus } from '../resources/core.js';
import { data } from '../resources/primitives.js';
import { UserPatch, UserProfile, UserUsageSummary } from '../resources/user.js';
import { defineRoute, noContent, ok } from './define.js';

/** spec: orchestrator §4.2 */
export const accountRoutes = [
  defineRoute({
    operationId: 'signIn',
    method: 'post',
    path: '/v1/auth/sign-in',
    auth: 'identity',
    tag: 'account',
    summary: 'Signs in an existing user',
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
    summary: 'Creates the user with a first workspace; repeating it changes nothing',
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
    summary: 'Refuses the token from now on',
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
    summary: 'Refuses every token of the user that was issued until now, and closes all sockets',
    spec: 'extension',
    responses: {
      204: {
        description:
          'Done; no content. Sockets are closed, and devices get no notifications until they send their push token ' +
          'again. Tokens give the time of their issue in whole seconds: one that is issued in the same second is ' +
          'refused with `token_revoked` too; a new one a second later is accepted.',
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
    summary: 'Deletes the account for good',
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
    summary: 'The profile of the caller',
    spec: 'orchestrator §4.2',
    responses: ok(data(UserProfile)),
  }),
  defineRoute({
    operationId: 'updateUser',
    method: 'patch',
    path: '/v1/users',
    auth: 'user',
    tag: 'account',
    summary: 'Changes the fields that are present',
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
    summary: 'The legal documents and what the caller accepted',
    spec: 'orchestrator §4.2',
    responses: ok(data(LegalStatus)),
  }),
  defineRoute({
    operationId: 'acceptLegal',
    method: 'post',
    path: '/v1/users/legal/accept',
    auth: 'user',
    tag: 'account',
    summary: 'Accepts the named versions',
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
    summary: 'What the caller used this month',
    spec: 'orchestrator §4.2',
    responses: ok(data(UserUsageSummary)),
  }),
] as const;
