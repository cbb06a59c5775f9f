import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { visibleText } from '@uswarm/service-kit';
import { z } from 'zod';

/** A server's question to the user, during a call. All texts are the server's, and untrusted. */
export interface Question {
  message: string;
  fields: readonly QuestionField[];
  /** The user is asked to open this https address in a browser, and to say when it is done. */
  address?: string;
}

export interface QuestionField {
  name: string;
  label: string;
  help?: string;
  type: 'text' | 'email' | 'url' | 'date' | 'date_time' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices';
  required: boolean;
  /** For `choice` and `choices`. */
  options?: { value: string; label: string }[];
  initial?: string | number | boolean | string[];
  /** For a text's length, a number, or the count of choices. */
  min?: number;
  max?: number;
}

/** `cancel`: the user did not decide. */
export type Answer =
  | { action: 'accept'; content: Record<string, string | number | boolean | string[]> }
  | { action: 'decline' | 'cancel' };

/** Asks the user a server's question, and waits. */
export type AskUser = (question: Question) => Promise<Answer>;

/** Questions of one call: a server that asks again and again gets no more answers. */
const MAX_QUESTIONS = 5;
const MAX_FIELDS = 20;
const MAX_OPTIONS = 50;
const MAX_MESSAGE = 4_000;
const MAX_LABEL = 200;
const MAX_ADDRESS = 2_000;

type Form = Extract<ElicitRequest['params'], { requestedSchema: unknown }>;
type FieldSchema = Form['requestedSchema']['properties'][string];
type Kind = Pick<QuestionField, 'type' | 'options' | 'min' | 'max' | 'initial'>;

const TEXT_TYPES = { email: 'email', uri: 'url', date: 'date', 'date-time': 'date_time' } as const;

const shown = (text: string, length: number): string => visibleText(text).slice(0, length).toWellFormed();
const line = (text: string): string => shown(text.replace(/\s+/g, ' ').trim(), MAX_LABEL);

const options = (values: readonly string[], names: readonly (string | undefined)[] = []): Pick<Kind, 'options'> => ({
  options: values.map((value, index) => ({ value, label: line(names[index] ?? value) || '?' })),
});

const titled = (all: readonly { const: string; title: string }[]): Pick<Kind, 'options'> =>
  options(
    all.map((one) => one.const),
    all.map(({ title }) => title),
  );

const limits = (min: number | undefined, max: number | undefined): Pick<Kind, 'min' | 'max'> => ({
  ...(min === undefined ? {} : { min }),
  ...(max === undefined ? {} : { max }),
});

function kindOf(schema: FieldSchema): Kind {
  const initial = schema.default === undefined ? {} : { initial: schema.default };
  if (schema.type === 'boolean') return { type: 'boolean', ...initial };
  if (schema.type === 'array') {
    const { items, minItems, maxItems } = schema;
    const all = 'anyOf' in items ? titled(items.anyOf) : options(items.enum);
    return { type: 'choices', ...all, ...limits(minItems, maxItems), ...initial };
  }
  if ('oneOf' in schema) return { type: 'choice', ...titled(schema.oneOf), ...initial };
  if ('enum' in schema)
    return { type: 'choice', ...options(schema.enum, 'enumNames' in schema ? schema.enumNames : []), ...initial };
  if (schema.type === 'string') {
    const type = schema.format === undefined ? 'text' : TEXT_TYPES[schema.format];
    return { type, ...limits(schema.minLength, schema.maxLength), ...initial };
  }
  return { type: schema.type, ...limits(schema.minimum, schema.maximum), ...initial };
}

function toAddress(text: string): string | undefined {
  const url = URL.parse(text);
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '';
  return isPlain && url.href.length <= MAX_ADDRESS ? url.href : undefined;
}

/** @returns undefined if the question cannot be shown: it is too large, or its address is not https */
function toQuestion(params: ElicitRequest['params']): Question | undefined {
  if (params.message.length > MAX_MESSAGE) return undefined;
  if (!('requestedSchema' in params)) {
    const address = toAddress(params.url);
    return address === undefined ? undefined : { message: shown(params.message, MAX_MESSAGE), fields: [], address };
  }
  const { properties, required = [] } = params.requestedSchema;
  const all = Object.entries(properties);
  if (all.length > MAX_FIELDS) return undefined;
  const fields = all.map(([name, schema]): QuestionField => {
    const help = schema.description === undefined ? '' : shown(schema.description, MAX_MESSAGE);
    return {
      name,
      label: line(schema.title ?? name) || '?',
      ...(help === '' ? {} : { help }),
      required: required.includes(name),
      ...kindOf(schema),
    };
  });
  const isChoosable = ({ options: some }: QuestionField): boolean =>
    some === undefined || (some.length > 0 && some.length <= MAX_OPTIONS);
  return fields.every(isChoosable) ? { message: shown(params.message, MAX_MESSAGE), fields } : undefined;
}

export type Elicit = (params: ElicitRequest['params']) => Promise<ElicitResult>;

/** The answers to the questions of one call. */
export function createElicitation(ask: AskUser): Elicit {
  let asked = 0;
  return async (params) => {
    const question = toQuestion(params);
    if (question === undefined || (asked += 1) > MAX_QUESTIONS) return { action: 'cancel' };
    const answer = await ask(question);
    return question.address === undefined ? answer : { action: answer.action };
  };
}

const Required = z.array(z.object({ message: z.string(), url: z.string() })).min(1);

/** Asks the user to open what a rejected call needs. @returns false if the user does not */
export async function openRequired(elicitations: unknown, elicit: Elicit): Promise<boolean> {
  const { data = [] } = Required.safeParse(elicitations);
  for (const { message, url } of data) {
    const { action } = await elicit({ mode: 'url', elicitationId: '', message, url });
    if (action !== 'accept') return false;
  }
  return data.length > 0;
}
