import { ApiError, canonicalLanguage, type UserPatch, type UserProfile } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { WithTransaction } from '../../database/database.js';
import type { EventStore } from '../events/events.store.js';
import type { LegalStore, LegalVersions } from '../legal/legal.store.js';
import type { Plans, Subscription } from '../plans/plans.js';
import type { UserRow, UserStore } from './users.store.js';

export interface UserServiceDeps {
  withTransaction: WithTransaction;
  store: Pick<UserStore, 'get' | 'update' | 'lockOwned'>;
  events: Pick<EventStore, 'append'>;
  legal: Pick<LegalStore, 'currentVersions'>;
  plans: Plans;
  clock: Clock;
}

export interface UserService {
  profile(userId: string): Promise<UserProfile>;
  /** @throws ApiError `validation_failed` */
  update(userId: string, patch: UserPatch): Promise<void>;
}

export function createUserService({
  withTransaction,
  store,
  events,
  legal,
  plans,
  clock,
}: UserServiceDeps): UserService {
  return {
    async profile(userId) {
      const [user, versions] = await Promise.all([store.get(userId), legal.currentVersions()]);
      if (user === undefined) throw new ApiError('user_not_found');
      return toProfile(user, plans.of(user, clock.now()), versions);
    },
    async update(userId, patch) {
      const problem =
        typeof patch.date_of_birth === 'string' ? birthProblem(patch.date_of_birth, clock.now()) : undefined;
      if (problem !== undefined) {
        throw new ApiError('validation_failed', { extra: { fields: [{ path: 'date_of_birth', message: problem }] } });
      }
      await withTransaction(async (tx) => {
        const owned = await store.lockOwned(userId, tx);
        await store.update(userId, withCanonicalLanguage(patch), tx);
        // Previews of messages show the name.
        if (patch.name === undefined && patch.nickname === undefined) return;
        for (const workspaceId of owned) {
          await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
        }
      });
    },
  };
}

/** A date without a time is the start of that day in UTC. */
function birthProblem(text: string, now: Date): string | undefined {
  // ISO 8601 has a year 0, Postgres does not.
  if (text.startsWith('0000')) return 'is not a date';
  return Date.parse(text) < now.getTime() ? undefined : 'must be in the past';
}

function withCanonicalLanguage({ preferences, ...patch }: UserPatch): UserPatch {
  if (preferences?.platform_language === undefined)
    return preferences === undefined ? patch : { ...patch, preferences };
  const platform_language = canonicalLanguage(preferences.platform_language) ?? preferences.platform_language;
  return { ...patch, preferences: { ...preferences, platform_language } };
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
