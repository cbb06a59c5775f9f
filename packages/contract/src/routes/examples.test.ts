import { describe, expect, it } from '@jest/globals';
import { ROUTES, type RouteDefinition } from './index.js';

const routes: readonly RouteDefinition[] = ROUTES;

describe.each(routes.map((route) => [route.operationId, route] as const))(
  'the example of %s',
  (_operationId, route) => {
    const { example } = route;

    it('names every parameter of the path', () => {
      expect(Object.keys(example.params ?? {}).toSorted()).toEqual(Object.keys(route.params ?? {}).toSorted());
    });

    it('has a query that the route takes', () => {
      const query = example.query ?? {};
      expect(Object.keys(query).filter((name) => !(name in (route.query?.shape ?? {})))).toEqual([]);
      expect(route.query?.safeParse(query).error).toBeUndefined();
    });

    it('has bodies that the route takes, without anything that it ignores', () => {
      const bodies = Object.values(example.body ?? {});
      expect(bodies.length > 0).toBe(route.body !== undefined);
      for (const body of bodies) expect(route.body?.parse(body)).toMatchObject(body as object);
      expect(example.multipart !== undefined).toBe(route.multipart !== undefined);
    });

    it('has an answer that the route gives', () => {
      const schemas = Object.values(route.responses).map(({ schema }) => schema);
      const json = schemas.find((schema) => schema !== null && schema.meta()?.['format'] !== 'binary');
      expect(json?.safeParse(example.answer ?? { openapi: '3.1.0', asyncapi: '3.0.0' }).error).toBeUndefined();
      expect(example.answer !== undefined).toBe(
        json !== undefined && json !== null && !['getOpenApi', 'getAsyncApi'].includes(route.operationId),
      );
    });
  },
);
