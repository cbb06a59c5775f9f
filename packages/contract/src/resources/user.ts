import { z } from 'zod';
import { CountryCode, CurrencyCode, LanguageTag, TimeZone } from './codes.js';
import { Period, Timestamp } from './primitives.js';

export const Preferences = z
  .strictObject({ platform_theme: z.string(), platform_language: z.string(), currency_code: z.string() })
  .meta({ id: 'Preferences' });

export const Subscription = z
  .strictObject({ name: z.string(), code: z.string(), expires_at: Timestamp.nullable() })
  .meta({ id: 'Subscription' });

/** spec: orchestrator §2.5 */
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
    /** Extension: agents use it when no device of the user sent `X-Timezone`. */
    time_zone: TimeZone,
  })
  .meta({ id: 'UserProfile' });
export type UserProfile = z.output<typeof UserProfile>;

const usageCounters = {
  tokens_used: z.int().nonnegative(),
  prompt_tokens_used: z.int().nonnegative(),
  completion_tokens_used: z.int().nonnegative(),
  request_count: z
    .int()
    .nonnegative()
    .meta({ description: 'The number of model calls: one per turn, and one more after each round of tool calls.' }),
  token_limit: z.int().nonnegative(),
};

/** spec: orchestrator §2.6 */
export const UserUsageSummary = z
  .strictObject({ current_period: Period, ...usageCounters, plan_id: z.string() })
  .meta({ id: 'UserUsageSummary' });
export type UserUsageSummary = z.output<typeof UserUsageSummary>;

/** spec: orchestrator §2.6 */
export const WorkspaceUsage = z.strictObject({ period: Period, ...usageCounters }).meta({ id: 'WorkspaceUsage' });
export type WorkspaceUsage = z.output<typeof WorkspaceUsage>;

const CalendarDate = z.union([z.iso.date(), Timestamp]);

/** Documented with one format, so that client generators make a date of it and not a class for a union. */
const DateOfBirth = z
  .string()
  .refine((value) => CalendarDate.safeParse(value).success, 'must be a date or a date-time')
  .meta({ format: 'date' });

/** Body of `PATCH /v1/users`: absent leaves a field as it is; null clears `date_of_birth` only. */
export const UserPatch = z
  .object({
    nickname: z.string().max(100),
    name: z.string().max(100),
    surname: z.string().max(100),
    country_code: CountryCode,
    date_of_birth: DateOfBirth.nullable().meta({
      description: 'A date in the past; null clears it. A date-time is also accepted.',
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

export const EXPORT_STATUSES = ['pending', 'running', 'ready', 'failed'] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

/** An archive with all data of the caller. An extension. */
export const Export = z
  .strictObject({
    id: z.uuid(),
    status: z.enum(EXPORT_STATUSES),
    created_at: Timestamp,
    expires_at: Timestamp.nullable().meta({ description: 'When the archive is deleted; null until it is ready.' }),
    size: z
      .int()
      .nonnegative()
      .nullable()
      .meta({ description: 'The size of the archive in bytes; null until it is ready.' }),
    url: z
      .string()
      .nullable()
      .meta({ description: 'A download link that is valid for 15 minutes; null until the archive is ready.' }),
  })
  .meta({ id: 'Export' });
export type Export = z.output<typeof Export>;
