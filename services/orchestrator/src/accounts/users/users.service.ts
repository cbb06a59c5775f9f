import {
  ApiError,
  calendarDay,
  canonicalLanguage,
  canonicalTimeZone,
  type UserPatch,
  type UserProfile,
} from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import { visibleLine } from '../../platform/http/visible-text.js';
import type { EventLog } from '../../records/event-log.js';
import { type LegalVersions, findCurrentVersions } from '../legal/legal.store.js';
import type { Plans, Subscription } from '../../metering/plans.js';
import { type UserChange, type UserRow, getUser, lockOwnedWorkspaces, updateUser } from '../../records/users.store.js';

export interface UserServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  events: Pick<EventLog, 'append'>;
  plans: Plans;
  clock: Clock;
}

export interface UserService {
  profile(userId: string): Promise<UserProfile>;
  /** @throws ApiError `validation_failed` */
  update(userId: string, patch: UserPatch): Promise<void>;
}

export function createUserService({ withTransaction, database, events, plans, clock }: UserServiceDeps): UserService {
  return {
    async profile(userId) {
      const [user, versions] = await Promise.all([getUser(database, userId), findCurrentVersions(database)]);
      if (user === undefined) throw new ApiError('user_not_found');
      return toProfile(user, plans.of(user, clock.now()), versions);
    },
    async update(userId, patch) {
      const change = changeOf(patch, clock.now());
      await withTransaction(async (tx) => {
        const owned = await lockOwnedWorkspaces(tx, userId);
        await updateUser(tx, userId, change);
        // Message previews show the name.
        if (patch.name === undefined && patch.nickname === undefined) return;
        for (const workspaceId of owned) {
          await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
        }
      });
    },
  };
}

/** @throws ApiError `validation_failed` */
function changeOf({ date_of_birth: birth, preferences, time_zone: zone, ...patch }: UserPatch, now: Date): UserChange {
  const { nickname, name, surname } = patch;
  const names = Object.entries({ nickname, name, surname }).flatMap(([field, text]) =>
    text === undefined ? [] : [[field, visibleLine(text)]],
  );
  return {
    ...patch,
    ...(Object.fromEntries(names) as Pick<UserChange, 'nickname' | 'name' | 'surname'>),
    ...(birth === undefined ? {} : { date_of_birth: birth === null ? null : instantOfBirth(birth, now) }),
    ...(zone === undefined ? {} : { time_zone: canonicalTimeZone(zone) ?? zone }),
    ...(preferences === undefined ? {} : { preferences: cleanPreferences(preferences) }),
  };
}

/** ISO 8601 has a year 0, Postgres does not. */
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');

/**
 * A birthday is a calendar day in any time zone. @returns the start of that day in UTC
 *
 * @throws ApiError `validation_failed`
 */
function instantOfBirth(text: string, now: Date): Date {
  const instant = new Date(`${calendarDay(text)}T00:00:00Z`);
  if (!(instant.getTime() >= EARLIEST)) throw invalidBirth('is not a date');
  if (instant >= now) throw invalidBirth('must be in the past');
  return instant;
}

const invalidBirth = (message: string): ApiError =>
  new ApiError('validation_failed', { extra: { fields: [{ path: 'date_of_birth', message }] } });

function cleanPreferences(preferences: NonNullable<UserPatch['preferences']>): UserChange['preferences'] {
  const { platform_language: language, platform_theme: theme } = preferences;
  return {
    ...preferences,
    ...(theme === undefined ? {} : { platform_theme: visibleLine(theme) }),
    ...(language === undefined ? {} : { platform_language: canonicalLanguage(language) ?? language }),
  };
}

// RES-014 to RES-028
function toProfile(user: UserRow, { plan, expiresAt }: Subscription, versions: LegalVersions): UserProfile {
  return {
    email: user.email,
    idp_uid: user.subject,
    nickname: user.nickname,
    name: user.name,
    surname: user.surname,
    avatar_url: user.avatar_url,
    country_code: user.country_code,
    date_of_birth: user.date_of_birth?.toISOString() ?? null,
    created_at: user.created_at.toISOString(),
    is_deleted: false,
    is_banned: user.is_banned,
    has_agreed_with_terms: user.accepted_terms_version === versions.terms_of_service,
    has_agreed_with_privacy_policy: user.accepted_privacy_version === versions.privacy_policy,
    preferences: {
      platform_theme: user.platform_theme,
      platform_language: user.platform_language,
      currency_code: user.currency_code,
    },
    time_zone: user.time_zone,
    subscription: { name: plan.name, code: plan.code, expires_at: expiresAt?.toISOString() ?? null },
  };
}
