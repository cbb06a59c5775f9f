import { z } from 'zod';
import { CountryCode, CurrencyCode, LanguageTag, TimeZone } from './codes.js';
import { Timestamp } from './primitives.js';

const Preferences = z
  .strictObject({ platform_theme: z.string(), platform_language: z.string(), currency_code: z.string() })
  .meta({ id: 'Preferences' });

const Subscription = z
  .strictObject({ name: z.string(), code: z.string(), expires_at: Timestamp.nullable() })
  .meta({ id: 'Subscription' });

export const UserProfile = z
  .strictObject({
    email: z.string(),
    idp_uid: z.string(),
    nickname: z.string(),
    name: z.string(),
    surname: z.string(),
    avatar_url: z.string(),
    country_code: z.string(),
    date_of_birth: Timestamp.nullable(),
    created_at: Timestamp,
    is_deleted: z.boolean(),
    is_banned: z.boolean(),
    has_agreed_with_terms: z.boolean(),
    has_agreed_with_privacy_policy: z.boolean(),
    preferences: Preferences,
    subscription: Subscription,
    /** Extension: agents use it if no device of the user sent `X-Timezone`. */
    time_zone: TimeZone,
  })
  .meta({ id: 'UserProfile' });
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

/** Documented with one format, so that client generators create a date instead of a class for a union. */
const DateOfBirth = z
  .string()
  .refine((value) => DATE_OR_TIME.test(value), {
    error: 'must be a date such as 1990-12-10, or a date-time',
    abort: true,
  })
  .refine((value) => calendarDay(value) !== undefined, 'must be a day of the calendar')
  .meta({ format: 'date' });

/** Body of `PATCH /v1/users`: absent fields do not change; null clears only `date_of_birth`. Accepts all values of a new profile. */
export const UserPatch = z
  .object({
    nickname: z.string().max(100),
    name: z.string().max(100),
    surname: z.string().max(100),
    country_code: CountryCode,
    date_of_birth: DateOfBirth.nullable().meta({
      description:
        'A date in the past, stored as the start of that day in UTC; null clears it. A date-time is stored as the day that it names, whatever its time and offset.',
    }),
    preferences: z
      .object({
        platform_theme: z.string().max(40),
        platform_language: LanguageTag,
        currency_code: CurrencyCode,
      })
      .partial(),
    time_zone: TimeZone,
  })
  .partial()
  .meta({ id: 'UserPatch' });
export type UserPatch = z.output<typeof UserPatch>;
