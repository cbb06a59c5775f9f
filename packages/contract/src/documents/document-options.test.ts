import { describe, expect, it } from '@jest/globals';
import { ERRORS, ErrorBody, type ErrorCode } from '../errors.js';
import { buildAsyncApi, buildOpenApi } from './index.js';

type JsonObject = Record<string, unknown>;

const production = { openapi: buildOpenApi(), asyncapi: buildAsyncApi() };
const tests = { openapi: buildOpenApi({ bypass: true }), asyncapi: buildAsyncApi({ bypass: true }) };
const BYPASS = /e2e|bypass|end-to-end/i;

interface Media {
  example?: unknown;
  examples?: object;
}
interface Body {
  content?: Record<string, Media>;
}
interface Operation {
  operationId: string;
  requestBody?: Body;
  responses: Record<string, Body & JsonObject & { $ref?: string }>;
}
const hasExample = ({ example, examples }: Media): boolean => example !== undefined || examples !== undefined;

describe('the end-to-end bypass', () => {
  it.each(['openapi', 'asyncapi'] as const)('is not mentioned in the %s document of production', (kind) => {
    expect(JSON.stringify(production[kind])).not.toMatch(BYPASS);
  });

  it('authenticates in the documents of systems for tests', () => {
    const { security } = tests.openapi.paths?.['/v1/workspaces']?.get ?? {};
    expect(security).toContainEqual({ e2eToken: [], e2eUid: [], e2eEmail: [], e2eName: [] });
    expect(Object.keys(tests.openapi.components?.securitySchemes ?? {})).toContain('e2eToken');
    expect(Object.keys(tests.asyncapi.components.securitySchemes)).toContain('e2eToken');
    expect(JSON.stringify(tests.asyncapi.components.schemas['Credentials'])).toContain('x-e2e-token');
  });
});

describe('the examples of errors', () => {
  const examples = (production.openapi.components?.examples ?? {}) as unknown as Record<string, { value: ErrorBody }>;

  it('are one per code, each a valid error with the sentence of the catalogue', () => {
    expect(Object.keys(examples).toSorted()).toEqual(Object.keys(ERRORS).toSorted());
    for (const [code, { value }] of Object.entries(examples)) {
      expect(ErrorBody.parse(value)).toEqual(value);
      expect(value).toMatchObject({ code, message: ERRORS[code as ErrorCode].message });
    }
  });

  it('are in each operation, for its body and its response', () => {
    const { paths } = JSON.parse(JSON.stringify(production.openapi)) as { paths: Record<string, object> };
    // These two documents would be their own examples.
    const { '/v1/openapi.json': _openApi, '/v1/asyncapi.json': _asyncApi, ...others } = paths;
    const operations = Object.values(others).flatMap((item) => Object.values(item) as Operation[]);
    expect(operations.length).toBeGreaterThan(50);
    for (const { operationId, requestBody, responses } of operations) {
      const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
      const contents = [requestBody, ...successes.map(([, response]) => response)].map((part) => part?.content ?? {});
      const without = contents.flatMap((content) =>
        // A file has no example.
        Object.entries(content).filter(([type, media]) => type === 'application/json' && !hasExample(media)),
      );
      expect({ operationId, without }).toEqual({ operationId, without: [] });
    }
  });

  it('name the errors of each operation', () => {
    const { paths, components } = JSON.parse(JSON.stringify(production.openapi)) as {
      paths: Record<string, Record<string, Operation>>;
      components: { responses: Record<string, JsonObject> };
    };
    for (const { operationId, responses } of Object.values(paths).flatMap((item) => Object.values(item))) {
      const errors = Object.entries(responses).filter(([status]) => /^[45]/.test(status));
      const named = errors.map(([, response]) => {
        const shared = components.responses[response.$ref?.split('/').at(-1) ?? ''];
        return (shared ?? response)['x-error-codes'];
      });
      expect({ operationId, named }).toEqual({
        operationId,
        named: named.map(() => expect.arrayContaining([expect.any(String)])),
      });
      expect(named).not.toEqual([]);
    }
  });

  it('are in each response, for all its codes', () => {
    const { paths, components } = JSON.parse(JSON.stringify(production.openapi)) as {
      paths: Record<string, Record<string, { responses: Record<string, JsonObject> }>>;
      components: { responses: Record<string, JsonObject> };
    };
    const own = Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap(({ responses }) => Object.values(responses)),
    );
    const errors = [...own, ...Object.values(components.responses)].filter((response) => 'x-error-codes' in response);
    expect(errors.length).toBeGreaterThan(50);
    for (const response of errors) {
      const { 'application/json': media } = response['content'] as Record<string, { examples: JsonObject }>;
      const references = Object.entries(media?.examples ?? {});
      expect(references.map(([code]) => code)).toEqual(response['x-error-codes']);
      for (const [code, reference] of references) expect(reference).toEqual({ $ref: `#/components/examples/${code}` });
    }
  });
});
