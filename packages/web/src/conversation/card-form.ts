import type { components } from '@uswarm/client';

export type Field = components['schemas']['FormField'];
export const SUBMIT = 'submit';

/** Input attributes; the other types are a choice. */
export const INPUTS: Partial<Record<Field['type'], { type: string; step?: string }>> = {
  text: { type: 'text' },
  email: { type: 'email' },
  url: { type: 'url' },
  date: { type: 'date' },
  date_time: { type: 'datetime-local' },
  number: { type: 'number', step: 'any' },
  integer: { type: 'number', step: '1' },
};
const YES_OR_NO = [
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
];
export const optionsOf = ({ type, options = [] }: Field): Field['options'] & {} =>
  type === 'boolean' ? YES_OR_NO : options;

/** As the service expects them: a time has a zone. */
export const valuesOf = (fields: readonly Field[], entered: FormData): Record<string, string[]> =>
  Object.fromEntries(
    fields.map(({ name, type }) => {
      const texts = entered
        .getAll(name)
        .map(String)
        .filter((text) => text !== '');
      return [name, type === 'date_time' ? texts.map((text) => new Date(text).toISOString()) : texts];
    }),
  );
