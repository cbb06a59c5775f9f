import { describe, expect, it } from '@jest/globals';
import { validateResponse } from './validate-response.js';

const child = (fields: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'a', namespace: 'ns' },
  ...fields,
});
const problem = (...children: object[]): unknown => validateResponse({ status: {}, children });

describe('validating a response', () => {
  it('accepts the three kinds with unique names', () => {
    const answer = {
      status: { phase: 'Ready' },
      resyncAfterSeconds: 2.5,
      finalized: false,
      children: [
        child(),
        child({ kind: 'ServiceAccount' }),
        child({ apiVersion: 'apps/v1', kind: 'Deployment' }),
        child({ metadata: { name: 'a', namespace: 'other' } }),
      ],
    };
    expect(validateResponse(answer)).toEqual({ answer });
  });

  it.each([
    ['kind', [child({ apiVersion: 'v1', kind: 'Secret' })]],
    ['version of a kind', [child({ apiVersion: 'apps/v1beta1', kind: 'Deployment' })]],
    ['group', [child({ apiVersion: 'evil.example/v1' })]],
    ['missing namespace', [child({ metadata: { name: 'a' } })]],
    ['missing name', [child({ metadata: { namespace: 'ns' } })]],
    ['duplicate name', [child(), child()]],
    ['child that is null', [null as unknown as object]],
  ])('rejects an invalid %s', (_what, children) => {
    expect(problem(...children)).toEqual({ problem: expect.any(String) });
  });

  it.each([{ resyncAfterSeconds: 'soon' }, { finalized: 'yes' }, { status: 'fine' }, { children: {} }])(
    'does not take %j',
    (fields) => {
      expect(validateResponse({ status: {}, children: [], ...fields })).toEqual({ problem: expect.any(String) });
    },
  );

  it.each<[string, object, object]>([
    ['an unknown key', { status: {}, children: [], labels: { a: 'b' } }, {}],
    ['null for every value', { status: null, children: null, resyncAfterSeconds: null, finalized: null }, {}],
    ['no status', { children: [] }, {}],
    ['no children', { status: { phase: 'Ready' } }, { status: { phase: 'Ready' } }],
    ['a negative time', { status: {}, children: [], resyncAfterSeconds: -1 }, {}],
    ['no time to wait', { status: {}, children: [], resyncAfterSeconds: 0 }, { resyncAfterSeconds: 0 }],
    [
      'a time that would be a busy loop',
      { status: {}, children: [], resyncAfterSeconds: 1e-9 },
      { resyncAfterSeconds: 0.2 },
    ],
  ])('decodes as Metacontroller does: %s', (_what, value, decoded) => {
    expect(validateResponse(value)).toEqual({ answer: { status: {}, children: [], ...decoded } });
  });

  it.each([[{}], [{ error: 'internal error' }], [[]], [null], ['text']])(
    'does not take something else for an empty answer, which would delete every child: %j',
    (value) => {
      expect(validateResponse(value)).toEqual({ problem: expect.any(String) });
    },
  );
});
