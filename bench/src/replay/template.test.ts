import { describe, expect, it } from '@jest/globals';
import { fill, newIdsOf, templateOf, verbatim } from './template.js';

const USER = '11111111-1111-4111-8111-111111111111';
const MESSAGE = '22222222-2222-4222-8222-222222222222';
const TURN = '33333333-3333-4333-8333-333333333333';
const known = { userId: USER, text: 'Hello' };

describe('the template of statements', () => {
  const filled = (values: unknown[], filling = {}, seq?: number) => {
    const [template] = templateOf([{ text: '', values }], known);
    return fill(template!.values, { userId: 'U', text: 'T', 'new-0': 'N0', 'new-1': 'N1', ...filling }, seq);
  };

  it('replaces values of the request, also within other values', () => {
    expect(filled([USER, 'fixed', `{"text":"Hello"}`, `${USER}/${USER}`])).toEqual([
      'U',
      'fixed',
      '{"text":"T"}',
      'U/U',
    ]);
  });

  it('creates new ids and keeps equal ids equal', () => {
    const templates = templateOf(
      [
        { text: '', values: [MESSAGE, TURN] },
        { text: '', values: [[TURN], MESSAGE] },
      ],
      known,
    );
    expect(newIdsOf(templates)).toEqual(['new-0', 'new-1']);
    expect(templates.map(({ values }) => fill(values, { 'new-0': 'N0', 'new-1': 'N1' }, undefined))).toEqual([
      ['N0', 'N1'],
      [['N1'], 'N0'],
    ]);
  });

  it('refers to the seq of an earlier result and keeps other numbers', () => {
    const [before, after] = templateOf(
      [
        { text: '', values: [42], seq: 42 },
        { text: '', values: [42, 20] },
      ],
      known,
    );
    expect(fill(before!.values, {}, undefined)).toEqual([42]);
    expect(fill(after!.values, {}, 77)).toEqual([77, 20]);
  });

  it('preserves values that JSON cannot represent, also after serialization', () => {
    const values = [Buffer.from([0, 255]), new Date(5), null, undefined, true, ''];
    const [template] = JSON.parse(JSON.stringify(templateOf([{ text: '', values }], known)));
    expect(fill(template.values, {}, undefined)).toEqual([Buffer.from([0, 255]), new Date(5), null, null, true, '']);
  });

  it('rejects a missing value', () => {
    const [template] = templateOf([{ text: '', values: [USER] }], known);
    expect(() => fill(template!.values, {}, undefined)).toThrow('missing value for the blank userId');
  });
});

describe('the template of a constant request', () => {
  it('has no blanks', () => {
    const templates = verbatim([{ text: 'SELECT', values: [USER, 42, [MESSAGE]], seq: 42 }]);
    expect(newIdsOf(templates)).toEqual([]);
    expect(fill(templates[0]!.values, {}, undefined)).toEqual([USER, 42, [MESSAGE]]);
  });
});
