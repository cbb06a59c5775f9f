import { describe, expect, it } from '@jest/globals';
import { ERRORS, ErrorBody, type ErrorCode } from '../errors.js';
import { buildAsyncApi, buildOpenApi } from './index.js';

type JsonObject = Record<string, unknown>;

const production = { openapi: buildOpenApi(), asyncapi: buildAsyncApi() };
const tests = { openapi: buildOpenApi({ bypass: true }), asyncapi: buildAsyncApi({ bypass: true }) };
const BYPASS = /e2e|bypass|end-to-end/i;

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
