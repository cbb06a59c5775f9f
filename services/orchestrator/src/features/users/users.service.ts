import { ApiError, type UserPatch, type UserProfile } from '@uswarm/contract';
import type { LegalDocuments, Plan } from '../core/catalog.js';
import type { UserRow, UserStore } from './users.store.js';

export interface UserServiceDeps {
  store: Pick<UserStore, 'get' | 'update'>;
  plans: readonly Plan[];
  legal: Pick<LegalDocuments, 'version'>;
}

export interface UserService {
  profile(userId: string): Promise<UserProfile>;
  /** @throws ApiError `validation_failed` */
  update(userId: string, patch: UserPatch): Promise<void>;
}

export function createUserService({ store, plans, legal }: UserServiceDeps): UserService {
  return {
    async profile(userId) {
      const user = await store.get(userId);
      if (user === undefined) throw new ApiError('user_not_found');
      return toProfile(user, plans, legal.version);
    },
    async update(userId, patch) {
      // ISO 8601 has a year 0, the calendar of the database has not.
      if (patch.date_of_birth?.startsWith('0000') === true) {
        const fields = [{ path: 'date_of_birth', message: 'is not a date' }];
        throw new ApiError('validation_failed', { extra: { fields } });
      }
      await store.update(userId, patch);
    },
  };
}

/** spec: orchestrator §2.5 */
function toProfile(user: UserRow, plans: readonly Plan[], legalVersion: string): UserProfile {
  const plan = plans.find(({ code }) => code === user.plan_code);
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
    has_agreed_with_terms: user.accepted_terms_version === legalVersion,
    has_agreed_with_privacy_policy: user.accepted_privacy_version === legalVersion,
    preferences: {
      platform_theme: user.platform_theme,
      platform_language: user.platform_language,
      currency_code: user.currency_code,
    },
    subscription: {
      name: plan?.name ?? user.plan_code,
      code: user.plan_code,
      expires_at: user.plan_expires_at?.toISOString() ?? null,
    },
  };
}
