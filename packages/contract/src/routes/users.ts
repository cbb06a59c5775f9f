import { data } from '../resources/primitives.js';
import { UserPatch, UserProfile } from '../resources/user.js';
import { defineRoute, noContent, ok } from './define.js';

export const userRoutes = [
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
] as const;
