import { data } from '../resources/primitives.js';
import { UserPatch, UserProfile } from '../resources/user.js';
import { defineRoute, noContent, ok } from './define.js';
import * as examples from './examples.js';

export const userRoutes = [
  defineRoute({
    operationId: 'getProfile',
    method: 'get',
    path: '/v1/users/profile',
    auth: 'user',
    scope: 'read',
    reach: 'any',
    tag: 'account',
    summary: 'Get the profile',
    description: 'Names are those of the identity provider at sign-up, until the user changes them.',
    responses: ok(data(UserProfile)),
    example: { answer: { data: examples.profile } },
  }),
  defineRoute({
    operationId: 'updateUser',
    method: 'patch',
    path: '/v1/users',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'account',
    summary: 'Update the profile',
    description: 'Fields that are absent do not change, also within `preferences`.',
    body: UserPatch,
    responses: noContent,
    example: {
      body: {
        names: { name: 'Ada', surname: 'Lovelace', nickname: 'ada', country_code: 'GB', date_of_birth: '1990-12-10' },
        preferences: { preferences: { platform_theme: 'dark', platform_language: 'en-GB', currency_code: 'GBP' } },
        clear: { date_of_birth: null },
      },
    },
  }),
] as const;
