import { ApiError, type FormField, type FormFieldType, type FormValue, LIMITS } from '@uswarm/contract';
import type { Question, QuestionField } from '@uswarm/mcp-client';
import { z } from 'zod';
import { type OfferedCard, quoted } from './approval-card.js';
import type { AnswerContent, QuestionAnswer, StoredQuestion } from './question.js';
import { visibleText } from './visible-text.js';

const SUBMIT_ACTION = 'submit';
const DECLINE_ACTION = 'decline';
/** More options are a list. */
const MAX_BUTTONS = 6;

/** One field with few values needs no form: each app shows buttons. */
function asButtons(fields: readonly QuestionField[]): { label: string; content: AnswerContent }[] | undefined {
  const [only, ...others] = fields;
  if (only === undefined || others.length > 0) return undefined;
  const { name, type, options = [] } = only;
  if (type === 'boolean')
    return [
      { label: 'Yes', content: { [name]: true } },
      { label: 'No', content: { [name]: false } },
    ];
  if (type !== 'choice' || options.length > MAX_BUTTONS) return undefined;
  return options.map(({ value, label }) => ({ label, content: { [name]: value } }));
}

function textsOf(value: QuestionField['initial']): FormValue | undefined {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value : [String(value)];
}

function shownField({ min: _, max: __, initial, ...field }: QuestionField): FormField {
  const texts = textsOf(initial);
  return { ...field, ...(texts === undefined ? {} : { initial: texts }) };
}

/** Shows a server's question; its texts are quoted. */
export function questionCard(
  from: string,
  { message, fields, address }: Question,
): { card: OfferedCard; question: StoredQuestion } {
  const buttons = asButtons(fields);
  const why = `${from} asks this during a call. Your answer goes to ${from}, not to the agent. Do not enter passwords.`;
  const [only] = fields;
  const labels =
    buttons === undefined || only === undefined ? [] : [only.label, only.help].filter((text) => text !== undefined);
  const submit = address === undefined ? 'Continue' : 'I have opened it';
  const shown = (buttons ?? [{ label: fields.length === 0 ? submit : 'Send', content: undefined }]).map(
    ({ label, content }, at) => ({ id: content === undefined ? SUBMIT_ACTION : `option-${at}`, label, content }),
  );
  return {
    card: {
      type: 'action_card',
      title: visibleText(`${from} asks you`),
      description: visibleText(
        [
          why,
          quoted([message, ...labels].join('\n')),
          ...(address === undefined ? [] : [`It asks you to open ${address}`]),
        ].join('\n'),
      ),
      actions: [
        ...shown.map(({ id, label }, at) => ({
          id,
          label,
          style: at === 0 ? ('primary' as const) : ('secondary' as const),
        })),
        { id: DECLINE_ACTION, label: 'Decline', style: 'secondary' },
      ],
      selected_action_id: null,
      form: buttons === undefined ? fields.map(shownField) : [],
      ...(address === undefined ? {} : { open_url: address }),
    },
    question: {
      fields,
      choices: {
        ...Object.fromEntries(shown.flatMap(({ id, content }) => (content === undefined ? [] : [[id, content]]))),
        [DECLINE_ACTION]: null,
      },
    },
  };
}

const within = ({ min = -Infinity, max = Infinity }: QuestionField, size: number): boolean =>
  size >= min && size <= max;
const range = ({ min, max }: QuestionField, what: string): string =>
  `needs ${[min === undefined ? [] : `at least ${min}`, max === undefined ? [] : `at most ${max}`].flat().join(' and ')}${what}`;

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;

const FORMATS: Partial<Record<FormFieldType, { schema: z.ZodType; problem: string }>> = {
  email: { schema: z.email(), problem: 'is not an e-mail address' },
  url: { schema: z.url(), problem: 'is not a web address' },
  date: { schema: z.iso.date(), problem: 'is not a date, such as 2026-11-20' },
  date_time: { schema: z.iso.datetime({ offset: true }), problem: 'is not a time, such as 2026-11-20T20:00:00Z' },
};

/** @returns the value; a problem, as a sentence without a subject */
function valueOf(
  field: QuestionField,
  texts: readonly string[],
): { value: AnswerContent[string] } | { problem: string } {
  const { type, options = [] } = field;
  if (type === 'choices') {
    if (texts.some((text) => !options.some(({ value }) => value === text)) || new Set(texts).size < texts.length)
      return { problem: 'has a value that is not among the options' };
    return within(field, texts.length) ? { value: [...texts] } : { problem: range(field, ' choices') };
  }
  const [text = '', ...others] = texts;
  if (others.length > 0) return { problem: 'takes one value' };
  switch (type) {
    case 'boolean':
      return text === 'true' || text === 'false'
        ? { value: text === 'true' }
        : { problem: 'is neither true nor false' };
    case 'choice':
      return options.some(({ value }) => value === text)
        ? { value: text }
        : { problem: 'has a value that is not among the options' };
    case 'number':
    case 'integer': {
      const value = Number(text);
      if (!DECIMAL.test(text) || !Number.isFinite(value)) return { problem: 'is not a number' };
      if (type === 'integer' && !Number.isSafeInteger(value)) return { problem: 'is not a whole number' };
      return within(field, value) ? { value } : { problem: range(field, '') };
    }
    default: {
      const format = FORMATS[type];
      if (format !== undefined && !format.schema.safeParse(text).success) return { problem: format.problem };
      return within(field, [...text].length) ? { value: text } : { problem: range(field, ' characters') };
    }
  }
}

/** An empty text means that the field was left empty. */
const isEmpty = ({ type }: QuestionField, texts: readonly string[] | undefined): texts is undefined =>
  texts === undefined || texts.length === 0 || (type !== 'choice' && texts.length === 1 && texts[0] === '');

/**
 * Reads a choice.
 *
 * @throws ApiError `validation_failed` with the fields whose values do not fit
 */
export function answerOf(
  { fields, choices }: StoredQuestion,
  actionId: string,
  values: Readonly<Record<string, FormValue>> = {},
): QuestionAnswer {
  const chosen = choices[actionId];
  if (chosen === null) return { action: 'decline' };
  if (chosen !== undefined) return { action: 'accept', content: chosen };
  const problems: { path: string; message: string }[] = [];
  const content: [string, AnswerContent[string]][] = [];
  for (const name of Object.keys(values))
    if (!fields.some((field) => field.name === name))
      problems.push({ path: `values.${name}`, message: 'is not a field of the card' });
  for (const field of fields) {
    const texts = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
    const path = `values.${field.name}`;
    if (isEmpty(field, texts)) {
      if (!field.required) continue;
      if (field.type === 'choices' && within(field, 0)) content.push([field.name, []]);
      else problems.push({ path, message: 'is required' });
      continue;
    }
    const read = valueOf(field, texts);
    if ('problem' in read) problems.push({ path, message: read.problem });
    else content.push([field.name, read.value]);
  }
  if (problems.length > 0)
    throw new ApiError('validation_failed', { extra: { fields: problems.slice(0, LIMITS.formFields) } });
  return { action: 'accept', content: Object.fromEntries(content) };
}
