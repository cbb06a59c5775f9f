import { describe, expect, it } from '@jest/globals';
import { findRoute, GATEWAY_ROUTES, ROUTES, type RouteAuth, type RouteDefinition, subjectOf } from './index.js';

/** Specified routes: method, path, authentication, success status. */
const DOCUMENTED: [string, string, RouteAuth, number][] = [
  ['GET', '/v1/health', 'public', 200],
  ['GET', '/v1/models', 'public', 200],
  ['GET', '/v1/legal', 'public', 200],
  ['POST', '/v1/push-token', 'user', 200],
  ['POST', '/v1/uploads', 'user', 201],
  ['POST', '/v1/auth/sign-in', 'identity', 204],
  ['POST', '/v1/auth/sign-up', 'identity', 204],
  ['POST', '/v1/auth/logout', 'identity', 204],
  ['DELETE', '/v1/auth/delete', 'identity', 204],
  ['GET', '/v1/users/profile', 'user', 200],
  ['PATCH', '/v1/users', 'user', 204],
  ['GET', '/v1/users/legal', 'user', 200],
  ['POST', '/v1/users/legal/accept', 'user', 204],
  ['GET', '/v1/users/usage/summary', 'user', 200],
  ['GET', '/v1/workspaces', 'user', 200],
  ['GET', '/v1/workspaces/{id}', 'user', 200],
  ['GET', '/v1/workspaces/{id}/usage', 'user', 200],
  ['GET', '/v1/workspaces/{workspaceId}/agents', 'user', 200],
  ['GET', '/v1/agents/{id}', 'user', 200],
  ['GET', '/v1/agents/{id}/details', 'user', 200],
  ['GET', '/v1/agents/{id}/history', 'user', 200],
  ['GET', '/v1/agents/{id}/settings', 'user', 200],
  ['GET', '/v1/agents/{id}/tools', 'user', 200],
  ['GET', '/v1/agents/{id}/memories', 'user', 200],
  ['POST', '/v1/agents/{id}/memories', 'user', 200],
  ['POST', '/v1/agents/{id}/memories', 'user', 204],
  ['DELETE', '/v1/agents/{id}/memories/{key}', 'user', 204],
  ['GET', '/v1/workspaces/{workspaceId}/conversations', 'user', 200],
  ['POST', '/v1/workspaces/{workspaceId}/conversations', 'user', 201],
  ['GET', '/v1/workspaces/{workspaceId}/conversations/{id}', 'user', 200],
  ['DELETE', '/v1/workspaces/{workspaceId}/conversations/{id}', 'user', 204],
  ['POST', '/v1/workspaces/{workspaceId}/conversations/{id}/read', 'user', 204],
  ['GET', '/v1/workspaces/{workspaceId}/conversations/{id}/messages', 'user', 200],
  ['GET', '/v1/workspaces/{workspaceId}/conversations/{id}/messages/search', 'user', 200],
  ['POST', '/v1/workspaces/{workspaceId}/conversations/{id}/messages', 'user', 201],
  ['POST', '/v1/workspaces/{workspaceId}/messages/{id}/action', 'user', 200],
  ['GET', '/v1/integrations', 'user', 200],
  ['POST', '/v1/integrations/connect', 'user', 200],
  ['POST', '/v1/integrations/callback', 'user', 204],
];

const routes: readonly RouteDefinition[] = ROUTES;
const keyOf = (method: string, path: string) => `${method.toUpperCase()} ${path}`;

describe('routes', () => {
  it.each(DOCUMENTED)('has %s %s for %s with status %i', (method, path, auth, status) => {
    const route = routes.find((candidate) => keyOf(candidate.method, candidate.path) === keyOf(method, path));
    expect(route?.auth).toBe(auth);
    expect(Object.keys(route?.responses ?? {})).toContain(String(status));
    expect(route?.extension).toBeUndefined();
  });

  it('marks every other route as an extension', () => {
    const documented = new Set(DOCUMENTED.map(([method, path]) => keyOf(method, path)));
    const others = routes.filter((route) => !documented.has(keyOf(route.method, route.path)));
    expect(others.filter(({ extension }) => extension !== true).map(({ operationId }) => operationId)).toEqual([]);
  });

  const ofUsers = [...routes, ...GATEWAY_ROUTES].filter(({ auth }) => auth === 'user') as RouteDefinition[];

  it('states for each route of users what an API token needs: read for GET, write for the rest', () => {
    const stated = ofUsers.filter(({ scope }) => scope !== 'session');
    const odd = stated.filter(({ method, scope }) => scope !== (method === 'get' ? 'read' : 'write'));
    expect(odd.map(({ operationId }) => operationId)).toEqual([]);
    expect(stated.length).toBeGreaterThan(70);
  });

  it('keeps API tokens from routes about API tokens, with which one could create others, and only from these', () => {
    const refused = ofUsers.filter(({ scope }) => scope === 'session').map(({ operationId }) => operationId);
    expect(refused).toEqual(['listApiTokens', 'createApiToken', 'revokeApiToken']);
  });

  it('states for each route that accepts API tokens which workspaces it concerns, in its path or as its reach', () => {
    const open = ofUsers.filter(({ scope }) => scope !== 'session');
    const undecided = open.filter((route) => (route.reach === undefined) === (subjectOf(route) === undefined));
    expect(undecided.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('gives each operation a unique id', () => {
    expect(new Set(routes.map((route) => route.operationId)).size).toBe(routes.length);
  });

  it.each(routes.map((route) => [route.operationId, route] as const))(
    'declares exactly the parameters in the path of %s',
    (_name, route) => {
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(Object.keys(route.params ?? {}).toSorted()).toEqual(inPath.toSorted());
    },
  );

  it.each(routes.map((route) => [route.operationId, route] as const))('finds %s by a concrete path', (_name, route) => {
    const path = route.path.replace(/\{\w+\}/g, '0192d3a4-0000-7000-8000-000000000000');
    expect(findRoute(route.method.toUpperCase(), path)).toBe(route);
  });

  it.each(['/v1/nothing', '/v1/workspaces/', '/v2/health', '/v1/health/x'])('finds no route for %s', (path) => {
    expect(findRoute('get', path)).toBeUndefined();
  });
});
