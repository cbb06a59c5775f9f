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

const CalendarDate = z.union([z.iso.date(), Timestamp]);

/** Documented with one format, so that client generators create a date instead of a class for a union. */
const DateOfBirth = z
  .string()
  .refine((value) => CalendarDate.safeParse(value).success, 'must be a date or a date-time')
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
        'A date in the past, stored as the start of that day in UTC; null clears it. A date-time is also accepted.',
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
