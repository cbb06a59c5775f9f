import { describe, expect, it } from '@jest/globals';
import type { Question } from '@uswarm/mcp-client';
import { answerOf, questionCard } from './question-card.js';

type Field = Question['fields'][number];
const field = (type: Field['type'], more: Partial<Field> = {}): Field => ({
  name: 'f',
  label: 'F',
  type,
  required: true,
  ...more,
});
const OPTIONS = {
  options: [
    { value: 'a', label: 'A' },
    { value: 'b', label: 'B' },
  ],
};
const answer = (one: Field, values: string[]) =>
  answerOf(
    questionCard('Hotel', { message: '?', fields: [one, field('text', { name: 'g', required: false })] }).question,
    'submit',
    { f: values },
  );

describe('the card with a question', () => {
  it('quotes the server, so that no line looks like the platform', () => {
    const { card } = questionCard('Hotel', { message: 'Hello\nApprove everything', fields: [] });
    expect(card).toMatchObject({
      title: 'Hotel asks you',
      description: expect.stringMatching(/Do not enter passwords\.\n“Hello\n {2}Approve everything”$/),
      actions: [
        { id: 'submit', label: 'Continue' },
        { id: 'decline', label: 'Decline' },
      ],
    });
    expect(card.form).toEqual([]);
  });

  it.each([
    ['a yes or no', field('boolean'), ['Yes', 'No', 'Decline'], { action: 'accept', content: { f: true } }],
    ['few options', field('choice', OPTIONS), ['A', 'B', 'Decline'], { action: 'accept', content: { f: 'a' } }],
  ])('has buttons for one field with %s', (_, only, labels, first) => {
    const { card, question } = questionCard('Hotel', { message: '?', fields: [only] });
    expect(card.actions.map(({ label }) => label)).toEqual(labels);
    expect(answerOf(question, card.actions[0]!.id)).toEqual(first);
    expect(answerOf(question, 'decline')).toEqual({ action: 'decline' });
  });

  it('names an address in full', () => {
    const address = 'https://pay.example/a?b=c';
    const { card, question } = questionCard('Hotel', { message: 'Pay', fields: [], address });
    expect(card).toMatchObject({ open_url: address, form: [], actions: [{ label: 'I have opened it' }, {}] });
    expect(card.description).toContain(`\nIt asks you to open ${address}`);
    expect(answerOf(question, 'submit')).toEqual({ action: 'accept', content: {} });
  });

  it('has a form for one field with many options', () => {
    const options = Array.from({ length: 7 }, (_one, at) => ({ value: `${at}`, label: `${at}` }));
    const { card } = questionCard('Hotel', { message: '?', fields: [field('choice', { options, initial: '3' })] });
    expect(card.form).toEqual([{ name: 'f', label: 'F', type: 'choice', required: true, options, initial: ['3'] }]);
  });
});

describe('the answer to a form', () => {
  it.each<[Field, string[], unknown]>([
    [field('text'), ['Ada'], 'Ada'],
    [field('text', { min: 2, max: 2 }), ['😀😀'], '😀😀'],
    [field('email'), ['ada@example.com'], 'ada@example.com'],
    [field('url'), ['https://example.com/a'], 'https://example.com/a'],
    [field('date'), ['2026-02-28'], '2026-02-28'],
    [field('date_time'), ['2026-02-28T10:00:00+01:00'], '2026-02-28T10:00:00+01:00'],
    [field('number'), ['-1.5e2'], -150],
    [field('integer', { min: 0, max: 3 }), ['3'], 3],
    [field('boolean'), ['false'], false],
    [field('choice', OPTIONS), ['b'], 'b'],
    [field('choice', { options: [{ value: '', label: 'None' }] }), [''], ''],
    [field('choices', OPTIONS), ['b', 'a'], ['b', 'a']],
    [field('choices', OPTIONS), [], []],
  ])('is converted: %j %j', (one, values, value) => {
    expect(answer(one, values)).toEqual({ action: 'accept', content: { f: value } });
  });

  it('leaves out empty fields that are not required', () => {
    expect(answer(field('integer', { required: false }), [''])).toEqual({ action: 'accept', content: {} });
    expect(answer(field('choices', { ...OPTIONS, required: false }), [])).toEqual({ action: 'accept', content: {} });
  });

  it.each<[Field, string[], string]>([
    [field('text'), [''], 'is required'],
    [field('text'), [], 'is required'],
    [field('text'), ['a', 'b'], 'takes one value'],
    [field('text', { min: 3 }), ['ab'], 'needs at least 3 characters'],
    [field('text', { min: 1, max: 3 }), ['abcd'], 'needs at least 1 and at most 3 characters'],
    [field('email'), ['ada'], 'is not an e-mail address'],
    [field('url'), ['example'], 'is not a web address'],
    [field('date'), ['2026-02-30'], 'is not a date, such as 2026-11-20'],
    [field('date_time'), ['2026-02-28'], 'is not a time, such as 2026-11-20T20:00:00Z'],
    [field('number'), ['0x10'], 'is not a number'],
    [field('number'), ['1e999'], 'is not a number'],
    [field('integer'), ['1.5'], 'is not a whole number'],
    [field('integer', { max: 3 }), ['4'], 'needs at most 3'],
    [field('boolean'), ['yes'], 'is neither true nor false'],
    [field('choice', OPTIONS), ['c'], 'has a value that is not among the options'],
    [field('choices', OPTIONS), ['a', 'a'], 'has a value that is not among the options'],
    [field('choices', { ...OPTIONS, min: 1 }), [], 'is required'],
    [field('choices', { ...OPTIONS, max: 1 }), ['a', 'b'], 'needs at most 1 choices'],
  ])('is refused: %j %j', (one, values, message) => {
    expect(() => answer(one, values)).toThrow(
      expect.objectContaining({ code: 'validation_failed', extra: { fields: [{ path: 'values.f', message }] } }),
    );
  });
});
