import type { Plan } from '../platform/core/catalog.js';

export interface StoredPlan {
  plan_code: string;
  plan_expires_at: Date | null;
}

export interface Subscription {
  plan: Plan;
  /** Null if the plan does not expire. */
  expiresAt: Date | null;
}

export interface Plans {
  find(code: string): Plan | undefined;
  codes: string[];
  /** Falls back to the default plan if the stored plan has expired or no longer exists. Pure. */
  of(stored: StoredPlan, now: Date): Subscription;
}

/** Also the database column's default. */
const DEFAULT_PLAN = 'free';

export function createPlans(list: readonly Plan[]): Plans {
  const byCode = new Map(list.map((plan) => [plan.code, plan]));
  const fallback = byCode.get(DEFAULT_PLAN);
  if (fallback === undefined) throw new Error(`the plans must include the default plan "${DEFAULT_PLAN}"`);
  return {
    find: (code) => byCode.get(code),
    codes: list.map(({ code }) => code),
    of({ plan_code, plan_expires_at: expiresAt }, now) {
      const plan = byCode.get(plan_code);
      if (plan === undefined || (expiresAt !== null && expiresAt <= now)) return { plan: fallback, expiresAt: null };
      return { plan, expiresAt };
    },
  };
}
