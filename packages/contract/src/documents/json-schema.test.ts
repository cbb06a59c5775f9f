import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { hoistedSchema, relax } from './json-schema.js';

const Inner = z.strictObject({ at: z.iso.datetime() }).meta({ id: 'HoistedInner' });
const Outer = z.strictObject({ inner: Inner, all: z.array(Inner) }).meta({ id: 'HoistedOuter' });

describe('hoistedSchema', () => {
  it('turns a named schema and its named parts into components', () => {
    const { schema, components } = hoistedSchema(Outer, 'output');
    expect(schema).toEqual({ $ref: '#/components/schemas/HoistedOuter' });
    expect(Object.keys(components).toSorted()).toEqual(['HoistedInner', 'HoistedOuter']);
    expect(components['HoistedOuter']).toEqual({
      type: 'object',
      properties: {
        inner: { $ref: '#/components/schemas/HoistedInner' },
        all: { type: 'array', items: { $ref: '#/components/schemas/HoistedInner' } },
      },
      required: ['inner', 'all'],
    });
  });

  it('leaves a schema without a name in place', () => {
    expect(hoistedSchema(z.object({ inner: Inner }), 'output').schema).toMatchObject({
      properties: { inner: { $ref: '#/components/schemas/HoistedInner' } },
    });
  });

  it('does not require what has a default from those who send it', () => {
    const schema = z.object({ limit: z.int().default(5) });
    expect(hoistedSchema(schema, 'input').schema['required']).toBeUndefined();
    expect(hoistedSchema(schema, 'output').schema['required']).toEqual(['limit']);
  });
});

describe('relax', () => {
  it('drops the refusal of unknown fields, patterns that a format names, and bounds of the language', () => {
    const node = {
      additionalProperties: false,
      format: 'uuid',
      pattern: '^x$',
      maximum: Number.MAX_SAFE_INTEGER,
      minimum: 1,
    };
    relax(node);
    expect(node).toEqual({ format: 'uuid', minimum: 1 });
  });

  it('keeps the pattern of a string that has no format', () => {
    const node = { pattern: '^[A-Z]{2}$' };
    relax(node);
    expect(node).toEqual({ pattern: '^[A-Z]{2}$' });
  });
});
