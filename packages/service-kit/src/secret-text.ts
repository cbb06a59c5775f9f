import { z } from 'zod';

const PLACEHOLDER =
  /(change|replace)[-_ ]?(me|it|this)|place[-_ ]?holder|your[-_ ]?(own[-_ ]?)?(secret|key|token|password)/i;

/** True for a publicly known placeholder from a template or guide. */
export const isPlaceholder = (secret: string): boolean => PLACEHOLDER.test(secret);

/** A secret with a minimum length that is not a placeholder. */
export const secretText = (minLength: number) =>
  z
    .string()
    .min(minLength)
    .refine((secret) => !isPlaceholder(secret), 'is a placeholder: generate a secret');

/** A secret that is sent in a header. Surrounding white space is removed, such as a line break from `echo`. */
export const headerSecret = (minLength: number) =>
  z
    .string()
    .transform((text) => text.trim())
    .pipe(secretText(minLength));

/** Previous secrets that are accepted during a rotation, separated by commas or line breaks. */
export const previousSecrets = (minLength: number) =>
  z
    .string()
    .transform((text) =>
      text
        .split(/[,\n]/)
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .pipe(z.array(secretText(minLength)));
