import { z } from 'zod';
import { CountryCode, CurrencyCode, LanguageTag, TimeZone } from './codes.js';
import { Timestamp } from './primitives.js';

const Preferences = z
  .strictObject({
    platform_theme: z
      .string()
      .meta({ description: 'A value that apps choose, such as `dark`; the service only stores it.' }),
    platform_language: z.string().meta({ description: 'A BCP 47 tag in canonical form, such as `en-GB`.' }),
    currency_code: z.string().meta({ description: 'The ISO 4217 code in which the user wants to see amounts.' }),
  })
  .meta({ id: 'Preferences', description: 'How the user wants apps to look.' });

const Subscription = z
  .strictObject({
    name: z.string().meta({ description: 'What users see, such as `Free`.' }),
    code: z.string().meta({ description: 'Identifies the plan, such as `free`.' }),
    expires_at: Timestamp.nullable().meta({ description: 'When the default plan follows; null if it has no end.' }),
  })
  .meta({ id: 'Subscription', description: 'The plan of the user, which sets the token limits.' });

export const UserProfile = z
  .strictObject({
    email: z.string().meta({ description: 'The address that the identity provider knows; empty if it has none.' }),
    idp_uid: z
      .string()
      .meta({ description: 'The subject of the identity provider: `auth0|5f7c8ec7c33c6c004bbafe82`.' }),
    nickname: z.string().meta({ description: 'How the user wants to be called; may be empty.' }),
    name: z.string().meta({ description: 'The given name; may be empty.' }),
    surname: z.string().meta({ description: 'The family name; may be empty.' }),
    avatar_url: z.string().meta({ description: 'The picture at the identity provider; empty if it has none.' }),
    country_code: z.string().meta({ description: 'An ISO 3166-1 alpha-2 code such as `GB`; empty if unknown.' }),
    date_of_birth: Timestamp.nullable().meta({
      description: 'The start of that day in UTC, so show the day in UTC; null if unknown.',
    }),
    created_at: Timestamp.meta({ description: 'When the user signed up.' }),
    is_deleted: z.boolean().meta({ description: 'Always false: a deleted account has no profile.' }),
    is_banned: z.boolean().meta({ description: 'Whether an operator has banned the user.' }),
    has_agreed_with_terms: z.boolean().meta({ description: 'Whether the present terms of service were accepted.' }),
    has_agreed_with_privacy_policy: z
      .boolean()
      .meta({ description: 'Whether the present version of the document was accepted.' }),
    preferences: Preferences.meta({ description: 'Choices of the user for the design of apps.' }),
    subscription: Subscription.meta({ description: 'The plan that applies now.' }),
    time_zone: TimeZone.meta({
      description:
        'Agents use it if no device of the user sent `X-Timezone`: an IANA name or a UTC offset such as `+05:30`; empty if unknown.',
    }),
  })
  .meta({ id: 'UserProfile', description: 'The account of the user.' });
export type UserProfile = z.output<typeof UserProfile>;

const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:[.,]\\d+)?)?';
/** Old offsets have seconds. A Java date-time ends with the zone in brackets. */
const OFFSET = '(?:[Zz]|UTC|GMT|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d){0,2})(?:\\[[\\w/+:-]+\\])?';
/** A date, and in a date-time what follows it: date pickers send midnight in any zone, or without one. */
const DATE_OR_TIME = new RegExp(`^(\\d{4}-\\d{2}-\\d{2})(?:[Tt ]${TIME})?(?: ?${OFFSET})?$`);

/** The day that a date or a date-time names; undefined if that day does not exist. */
export function calendarDay(text: string): string | undefined {
  const day = DATE_OR_TIME.exec(text)?.[1];
  return z.iso.date().safeParse(day).success ? day : undefined;
}

/** Documented with one format, so that client generators create a date instead of a union class. */
const DateOfBirth = z
  .string()
  .refine((value) => DATE_OR_TIME.test(value), {
    error: 'must be a date such as 1990-12-10, or a date-time',
    abort: true,
  })
  .refine((value) => calendarDay(value) !== undefined, 'must be a day of the calendar')
  .meta({ format: 'date' });

/** Accepts all values of a new profile. */
const PreferencesPatch = z
  .object({
    platform_theme: z.string().max(40).meta({ description: 'Any value of the app, up to 40 characters.' }),
    platform_language: LanguageTag.meta({
      description: 'A BCP 47 tag, also with an underscore (`en_US`); stored in canonical form (`en-US`).',
    }),
    currency_code: CurrencyCode.meta({ description: 'The currency in which to show amounts.' }),
  })
  .partial()
  .meta({ id: 'PreferencesPatch', description: 'Fields that are absent do not change.' });

export const UserPatch = z
  .object({
    nickname: z
      .string()
      .max(100)
      .meta({ description: 'How the user wants to be called, up to 100 characters; may be empty.' }),
    name: z.string().max(100).meta({ description: 'The given name, up to 100 characters; may be empty.' }),
    surname: z.string().max(100).meta({ description: 'The family name, up to 100 characters; may be empty.' }),
    country_code: CountryCode.meta({ description: 'Where the user lives; empty if unknown.' }),
    date_of_birth: DateOfBirth.nullable().meta({
      description:
        'A date in the past, stored as the start of that day in UTC; null clears it. A date-time is stored as the day that it names, whatever its time and offset.',
    }),
    preferences: PreferencesPatch.meta({ description: 'Changes the preferences that it contains.' }),
    time_zone: TimeZone.meta({
      description: 'An IANA name, a UTC offset or a Windows name; empty if unknown. Stored in canonical form.',
    }),
  })
  .partial()
  .meta({ id: 'UserPatch', description: 'Fields that are absent do not change; null clears only `date_of_birth`.' });
export type UserPatch = z.output<typeof UserPatch>;
