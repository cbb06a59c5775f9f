import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { hoistedSchema, relax, withPlainUnions } from './json-schema.js';

const Inner = z.strictObject({ at: z.iso.datetime() }).meta({ id: 'HoistedInner' });
const Outer = z.strictObject({ inner: Inner, all: z.array(Inner) }).meta({ id: 'HoistedOuter' });

describe('hoistedSchema', () => {
  it('converts a named schema and its named parts to components', () => {
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

  it('keeps a schema without a name inline', () => {
    expect(hoistedSchema(z.object({ inner: Inner }), 'output').schema).toMatchObject({
      properties: { inner: { $ref: '#/components/schemas/HoistedInner' } },
    });
  });

  it('does not require fields with a default from senders', () => {
    const schema = z.object({ limit: z.int().default(5) });
    expect(hoistedSchema(schema, 'input').schema['required']).toBeUndefined();
    expect(hoistedSchema(schema, 'output').schema['required']).toEqual(['limit']);
  });
});

describe('relax', () => {
  it('removes the ban on unknown fields, patterns that a format implies, and bounds of JavaScript', () => {
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

  it('removes the explicit permission of other fields, which is the default', () => {
    const node = { properties: {}, additionalProperties: {} };
    relax(node);
    expect(node).toEqual({ properties: {} });
  });

  it('keeps the type of the values of a map', () => {
    const node = { additionalProperties: {} };
    relax(node);
    expect(node).toEqual({ additionalProperties: {} });
  });

  it('keeps the pattern of a string without a format', () => {
    const node = { pattern: '^[A-Z]{2}$' };
    relax(node);
    expect(node).toEqual({ pattern: '^[A-Z]{2}$' });
  });
});

describe('withPlainUnions', () => {
  it('adds null to the type of a nullable value', () => {
    const anyOf = [{ type: 'string', format: 'date-time' }, { type: 'null' }];
    expect(withPlainUnions({ at: { anyOf, description: 'When.' } })).toEqual({
      at: { type: ['string', 'null'], format: 'date-time', description: 'When.' },
    });
  });

  it('lists the types of a union, each with its own keywords', () => {
    const anyOf = [
      { type: 'integer', minimum: 0 },
      { type: 'string', pattern: '^[a-z]+$' },
    ];
    expect(withPlainUnions({ anyOf })).toEqual({ type: ['integer', 'string'], minimum: 0, pattern: '^[a-z]+$' });
  });

  it.each([
    ['a reference or null', [{ $ref: '#/x' }, { type: 'null' }]],
    [
      'a union of two kinds of one type',
      [
        { type: 'string', pattern: 'a' },
        { type: 'string', pattern: 'b' },
      ],
    ],
    ['one of some values or null, since null is not one of them', [{ type: 'string', enum: ['a'] }, { type: 'null' }]],
  ])('does not change %s', (_what, anyOf) => {
    expect(withPlainUnions({ anyOf })).toEqual({ anyOf });
  });
});
