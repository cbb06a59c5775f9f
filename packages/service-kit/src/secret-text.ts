import { z } from 'zod';

const PLACEHOLDER =
  /(change|replace)[-_ ]?(me|it|this)|place[-_ ]?holder|your[-_ ]?(own[-_ ]?)?(secret|key|token|password)/i;

/** Whether a secret is what a template or a guide had in its place, which everybody knows. */
export const isPlaceholder = (secret: string): boolean => PLACEHOLDER.test(secret);

/** A secret of at least so many characters that somebody really made. */
export const secretText = (minLength: number) =>
  z
    .string()
    .min(minLength)
    .refine((secret) => !isPlaceholder(secret), 'is a placeholder: generate a secret of your own');

/** A secret that is sent in a header, which drops white space around it, such as the line break that `echo` adds. */
export const headerSecret = (minLength: number) =>
  z
    .string()
    .transform((text) => text.trim())
    .pipe(secretText(minLength));

/** Secrets that are accepted besides the current one while it is rotated, separated by commas or line breaks. */
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
